// @ts-check
/** @import {ExplanationData} from "../view/types.js" */
/** Exports the results as JSON or CSV, to the clipboard or a file. */

import {create} from "../view/elements.js";
import {reranked} from "../view/rescore.js";
import {announce} from "./messages.js";
import {page} from "./page.js";
import {state} from "./state.js";

/** The results under the current settings, as the service would return them. */
function shownData() {
  const {lambda, top} = state.settings, {source, gold, methods} = /** @type {ExplanationData} */ (state.shown);
  const data = reranked({text: state.shown?.text ?? "", methods}, {lambda, topN: top});
  return {source, gold, methods: data.methods};
}

/**
 * A cell for a spreadsheet: quoted, and never a formula.
 * @param {string | number} value
 */
function csvCell(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r\n|＝＋－＠]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}

function csvText() {
  const rows = shownData().methods.flatMap((method) => method.keyphrases.map((keyphrase) => [
    method.method, keyphrase.rank, keyphrase.text, keyphrase.score, keyphrase.occurrences.length,
    keyphrase.occurrences[0]?.start ?? "", keyphrase.occurrences[0]?.end ?? "", keyphrase.variants.join("; "),
    keyphrase.source ?? "text"]));
  const head = ["method", "rank", "phrase", "score", "occurrences", "start", "end", "variants", "source"];
  return "\ufeff" + [head, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

const jsonText = () => JSON.stringify(shownData(), null, 2);

const stem = () => (state.source ?? "keyphrases").replace(/\.[^.]+$/, "");

/** @param {string} content @param {string} type @param {string} name */
export function download(content, type, name) {
  const link = create("a", {href: URL.createObjectURL(new Blob([content], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const saveJson = () => download(jsonText(), "application/json", `${stem()}.json`);
export const saveCsv = () => download(csvText(), "text/csv;charset=utf-8", `${stem()}.csv`);

export async function copyJson() {
  try {
    await navigator.clipboard.writeText(jsonText());
  } catch { // the clipboard API needs https: fall back
    const field = create("textarea", {class: "visually-hidden"});
    field.value = jsonText();
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  announce("Copied.");
  page.copy.textContent = "Copied";
  setTimeout(() => { page.copy.textContent = "Copy JSON"; }, 1500);
}
