/* The HTTP API, drawn from /openapi.json without any script of another site. */
const $ = (id) => document.getElementById(id);

/** An element with children; texts are never markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

const nameOf = (reference) => reference.slice(reference.lastIndexOf("/") + 1);

/** A schema in a few words, with links to those that have a name. */
function shape(schema = {}) {
  if (schema.$ref) return [element("a", {href: `#${nameOf(schema.$ref)}`}, nameOf(schema.$ref))];
  const choices = schema.anyOf ?? schema.oneOf?.filter((choice) => choice.type || choice.$ref);
  if (choices?.length) return choices.flatMap((choice, index) => (index ? [" or ", ...shape(choice)] : shape(choice)));
  if (schema.type === "array") return ["list of ", ...shape(schema.items)];
  if (schema.enum) return [schema.enum.join(", ")];
  if ("const" in schema) return [JSON.stringify(schema.const)];
  return [[schema.type ?? "anything", ...limits(schema)].join(", ")];
}

function limits(schema) {
  const known = {minimum: "from", maximum: "to", exclusiveMinimum: "above", exclusiveMaximum: "below",
    maxLength: "at most", maxItems: "at most"};
  const told = (name) => `${known[name]} ${schema[name].toLocaleString("en")}${name === "maxLength" ? " characters" : ""}`;
  return Object.keys(known).filter((name) => name in schema).map(told);
}

function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const needed = schema.required?.includes(name) ? "needed" : "default" in field ? JSON.stringify(field.default) : "";
    return element("tr", {}, element("td", {}, element("code", {}, name)), element("td", {}, ...shape(field)),
      element("td", {}, needed), element("td", {}, field.description ?? ""));
  });
  if (!rows.length) return "";
  const head = ["Field", "Type", "Default", ""].map((title) => element("th", {scope: "col"}, title));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

/** A command that asks for an operation, with the first example of its body. */
function command(method, path, operation, schemas) {
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const parts = [`curl ${location.origin}${path}`];
  if (method !== "get" && !body) parts.push(`-X ${method.toUpperCase()}`);
  if (type) parts.push(`-H 'Content-Type: ${type}'`);
  const example = body?.schema?.$ref && schemas[nameOf(body.schema.$ref)]?.examples?.[0];
  if (example) parts.push(`-d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`);
  else if (body) parts.push("--data-binary @FILE");
  return element("pre", {}, parts.join(" \\\n  "));
}

function operationSection(path, method, operation, schemas) {
  const title = element("h3", {}, `${method.toUpperCase()} ${path}`);
  const described = element("p", {class: "description"}, operation.description ?? operation.summary ?? "");
  const bodies = Object.values(operation.requestBody?.content ?? {}).flatMap(({schema}) => ["Body: ", ...shape(schema)]);
  const query = {properties: Object.fromEntries((operation.parameters ?? []).map((p) => [p.name, p.schema]))};
  const answers = Object.entries(operation.responses).map(([status, {description, content}]) => {
    const schema = Object.values(content ?? {})[0]?.schema;
    return element("tr", {}, element("td", {}, status), element("td", {}, ...(schema ? shape(schema) : [""])),
      element("td", {}, description));
  });
  return element("section", {}, title, described, command(method, path, operation, schemas),
    element("p", {}, ...bodies), fields(query), element("table", {}, element("tbody", {}, ...answers)));
}

function draw(api) {
  const schemas = api.components.schemas;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationSection(path, method, operation, schemas)));
  const shapes = Object.entries(schemas).map(([name, schema]) => element("section", {id: name},
    element("h3", {}, name), element("p", {}, schema.description ?? schema.title ?? ""), fields(schema)));
  $("api").replaceChildren(element("p", {class: "description"}, api.info.description.trim()),
    element("h2", {}, "Requests"), ...operations, element("h2", {}, "Schemas"), ...shapes);
  document.documentElement.dataset.ready = "";
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

async function load() {
  const key = sessionStorage.getItem("mudy-key");
  const answer = await fetch("/openapi.json", {headers: key ? {Authorization: `Bearer ${key}`} : {}});
  $("key-needed").hidden = answer.status !== 401;
  if (answer.ok) draw(await answer.json());
  else $("api").textContent = answer.status === 401 ? "" : `The service answered ${answer.status}. Try again later.`;
}

$("key-given").addEventListener("click", () => {
  sessionStorage.setItem("mudy-key", $("key").value.trim());
  $("key").value = "";
  load();
});
load().catch(() => { $("api").textContent = "The service cannot be reached."; });
