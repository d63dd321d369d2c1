// @ts-check
/** The HTTP API, rendered from /openapi.json without third-party scripts. */

import {authorization, storeKey} from "./app/key.js";
import {create} from "./view/elements.js";

/** @typedef {Record<string, any>} Schema */
/** @typedef {Record<string, any>} Operation */

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const keyField = /** @type {HTMLInputElement} */ (byId("key"));

/** @param {string} reference */
const nameOf = (reference) => reference.slice(reference.lastIndexOf("/") + 1);

/**
 * A short description of a schema, with links to named schemas.
 * @param {Schema} schema
 * @returns {(string | HTMLElement)[]}
 */
function shape(schema = {}) {
  if (schema.$ref) return [create("a", {href: `#${nameOf(schema.$ref)}`}, nameOf(schema.$ref))];
  if (schema.anyOf) {
    return schema.anyOf.flatMap((/** @type {Schema} */ choice, /** @type {number} */ index) => (
      index ? [" or ", ...shape(choice)] : shape(choice)));
  }
  if (schema.type === "array") return ["list of ", ...shape(schema.items)];
  if (schema.enum) return [schema.enum.join(", ")];
  if ("const" in schema) return [JSON.stringify(schema.const)];
  return [[schema.type ?? "anything", ...limits(schema)].join(", ")];
}

/** @param {Schema} schema */
function limits(schema) {
  /** @type {Record<string, string>} */
  const known = {minimum: "from", maximum: "to", exclusiveMinimum: "above", exclusiveMaximum: "below",
    maxLength: "at most", maxItems: "at most"};
  /** @param {string} name */
  const words = (name) => `${known[name]} ${schema[name].toLocaleString("en")}${name === "maxLength" ? " characters" : ""}`;
  return Object.keys(known).filter((name) => name in schema).map(words);
}

/** @param {Schema} schema */
function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const needed = schema.required?.includes(name) ? "required" : "default" in field ? JSON.stringify(field.default) : "";
    return create("tr", {}, create("td", {}, create("code", {}, name)), create("td", {}, ...shape(field)),
      create("td", {}, needed), create("td", {}, field.description ?? ""));
  });
  if (!rows.length) return "";
  const head = ["Field", "Type", "Default", "Description"].map((title) => create("th", {scope: "col"}, title));
  return create("table", {}, create("thead", {}, create("tr", {}, ...head)), create("tbody", {}, ...rows));
}

/**
 * A command that calls an operation, with the first example of its body.
 * @param {string} method
 * @param {string} path
 * @param {Operation} operation
 * @param {Record<string, Schema>} schemas
 */
function command(method, path, operation, schemas) {
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const parts = [`curl ${location.origin}${path}`];
  if (method !== "get" && !body) parts.push(`-X ${method.toUpperCase()}`);
  if (type) parts.push(`-H 'Content-Type: ${type}'`);
  const example = body?.schema?.$ref && schemas[nameOf(body.schema.$ref)]?.examples?.[0];
  if (example) parts.push(`-d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`);
  else if (body) parts.push("--data-binary @FILE");
  return create("pre", {}, parts.join(" \\\n  "));
}

/** @param {string} path @param {string} method @param {Operation} operation @param {Record<string, Schema>} schemas */
function operationSection(path, method, operation, schemas) {
  const title = create("h3", {}, `${method.toUpperCase()} ${path}`);
  const described = create("p", {class: "description"}, operation.description ?? operation.summary ?? "");
  const bodies = Object.values(operation.requestBody?.content ?? {}).flatMap(({schema}) => (
    ["Body: ", ...shape(schema)]));
  /** @type {{name: string, schema: Schema}[]} */
  const parameters = operation.parameters ?? [];
  const query = {properties: Object.fromEntries(parameters.map(({name, schema}) => [name, schema]))};
  const answers = Object.entries(operation.responses).map(([status, {description, content}]) => {
    const schema = Object.values(content ?? {})[0]?.schema;
    return create("tr", {}, create("td", {}, status), create("td", {}, ...(schema ? shape(schema) : [""])),
      create("td", {}, description));
  });
  return create("section", {}, title, described, command(method, path, operation, schemas),
    create("p", {}, ...bodies), fields(query), create("table", {}, create("tbody", {}, ...answers)));
}

/** @param {any} api  an OpenAPI description */
function draw(api) {
  const schemas = api.components.schemas;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationSection(path, method, operation, schemas)));
  const shapes = Object.entries(schemas).map(([name, schema]) => create("section", {id: name},
    create("h3", {}, name), create("p", {}, schema.description ?? schema.title ?? ""), fields(schema)));
  byId("api").replaceChildren(create("p", {class: "description"}, api.info.description.trim()),
    create("h2", {}, "Requests"), ...operations, create("h2", {}, "Schemas"), ...shapes);
  document.documentElement.dataset.ready = "";
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

async function load() {
  const answer = await fetch("/openapi.json", {headers: authorization()});
  byId("key-needed").hidden = answer.status !== 401;
  if (answer.ok) draw(await answer.json());
  else byId("api").textContent = answer.status === 401 ? "" : `The service answered ${answer.status}. Try again later.`;
}

byId("key-given").addEventListener("click", () => {
  storeKey(keyField.value);
  keyField.value = "";
  load();
});
load().catch(() => { byId("api").textContent = "The service is unreachable."; });
