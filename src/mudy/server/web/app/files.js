// @ts-check
/** @import {Structure} from "./state.js" */
/** Reads the text of a file. */

import {PageError, request} from "./api.js";
import {isEditing, setText, showEditor} from "./editor.js";
import {startProgress} from "./progress.js";
import {attempt} from "./run.js";
import {state} from "./state.js";

const PLAIN = [".txt", ".text"], HTML = [".html", ".htm", ".xhtml"];

/** The extensions of files that can be read. */
export const readableEndings = () => [...new Set([...PLAIN, ...HTML, ...(state.service?.readers ?? [])])];

/** @param {File} file */
export async function openFile(file) {
  if (!isEditing()) showEditor();
  await attempt(async (signal) => {
    const {text, ...structure} = await textOf(file, signal);
    setText(text, file.name, structure);
  }, () => openFile(file));
}

/**
 * @param {File} file
 * @param {AbortSignal} signal
 * @returns {Promise<{text: string} & Structure>}
 */
async function textOf(file, signal) {
  const ending = /\.[^.]+$/.exec(file.name.toLowerCase())?.[0] ?? "", most = state.service?.limits.body_bytes;
  const readers = state.service?.readers ?? [];
  if (most && file.size > most) {
    throw new PageError("The file is too large", `The limit is ${Math.floor(most / 1000)} KB.`);
  }
  if (!PLAIN.includes(ending) && readers.includes(ending)) return readByService(file, signal);
  if (HTML.includes(ending)) return {text: htmlText(decode(await file.arrayBuffer()))};
  if (PLAIN.includes(ending) || file.type.startsWith("text/")) return {text: decode(await file.arrayBuffer())};
  const kinds = [...new Set([".txt", ".md", ".html", ...readers])].join(", ");
  throw new PageError("Unsupported file type",
    `${file.name} cannot be read. Supported types: ${kinds}. You can paste its text instead.`);
}

/**
 * @param {File} file
 * @param {AbortSignal} signal
 * @returns {Promise<{text: string} & Structure>}
 */
async function readByService(file, signal) {
  startProgress(`Reading ${file.name}`);
  const response = await request(`/v1/read?name=${encodeURIComponent(file.name)}`,
    {method: "POST", signal, body: file, headers: {"Content-Type": "application/octet-stream"}});
  return response.json();
}

/**
 * Bytes as text: by their byte order mark, else UTF-8, else Windows-1252.
 * @param {ArrayBuffer} buffer
 */
function decode(buffer) {
  const [a, b] = new Uint8Array(buffer);
  if (a === 0xff && b === 0xfe) return new TextDecoder("utf-16le").decode(buffer);
  if (a === 0xfe && b === 0xff) return new TextDecoder("utf-16be").decode(buffer);
  try {
    return new TextDecoder("utf-8", {fatal: true}).decode(buffer);
  } catch {
    return new TextDecoder("windows-1252").decode(buffer);
  }
}

const LEFT_OUT = /^(BUTTON|HEAD|IFRAME|NAV|NOSCRIPT|SCRIPT|SELECT|STYLE|SVG|TEMPLATE)$/;
const BLOCKS = /^(ARTICLE|ASIDE|BLOCKQUOTE|DD|DIV|DT|FIG.*|FOOTER|H\d|HEADER|LI|MAIN|[OU]L|P|PRE|SECTION|TABLE|TR)$/;

/**
 * The text of a web page, parsed without running or fetching anything.
 * @param {string} html
 */
function htmlText(html) {
  let text = "";
  /** @param {Node} node */
  const walk = (node) => {
    for (const child of node.childNodes) {
      const name = child.nodeName.toUpperCase();
      if (child instanceof Text) text += child.data.replace(/\s+/g, " ");
      else if (name === "BR") text += "\n";
      else if (child instanceof Element && !LEFT_OUT.test(name)) {
        const gap = BLOCKS.test(name) ? (name === "LI" || name === "TR" ? "\n" : "\n\n") : "";
        text += gap;
        walk(child);
        text += name === "TD" || name === "TH" ? " " : gap;
      }
    }
  };
  walk(new DOMParser().parseFromString(html, "text/html").body);
  return text.replace(/[^\S\n]+/g, " ").replace(/ ?\n ?/g, "\n").replace(/\n{3,}/g, "\n\n").trim();
}
