// @ts-check
/** @import {Structure} from "./state.js" */
/** The text editor. */

import {plural} from "../view/words.js";
import {PageError} from "./api.js";
import {clearError} from "./messages.js";
import {page} from "./page.js";
import {state} from "./state.js";

/** @param {string} text */
const codePoints = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/** The text as it is sent: lone surrogates are replaced. */
export const textToSend = () => page.text.value.toWellFormed?.() ?? page.text.value;

export const goldPhrases = () => page.gold.value.split("\n").map((phrase) => phrase.trim()).filter(Boolean);

export const isEditing = () => !page.editor.hidden;

export function showEditor() {
  page.editor.hidden = false;
  page.result.hidden = true;
  page.text.focus();
}

/** @param {string} text @param {string | null} source @param {Structure} structure */
export function setText(text, source = null, structure = {}) {
  page.text.value = text;
  state.source = source;
  state.structure = page.text.value === text ? structure : {}; // the field changes line ends, and so offsets
  updateMeter();
  if (!isEditing()) showEditor();
  clearError();
}

export function updateMeter() {
  const text = page.text.value, most = state.service?.limits.characters, length = codePoints(text);
  const words = text.match(/\S+/g)?.length ?? 0;
  page.meterText.textContent = `${plural(words, "word")} · ${length.toLocaleString("en")}`
    + (most ? ` of at most ${most.toLocaleString("en")} characters` : " characters");
  page.meter.classList.toggle("is-over", most != null && length > most);
  page.meterBar.style.setProperty("--full", most ? `${Math.min(100, 100 * length / most)}%` : "0");
}

/**
 * Why a text cannot be sent, or null.
 * @param {string} text
 */
export function textError(text) {
  if (!text.trim()) return new PageError("No text", "Paste a text, choose a file, or try a sample.");
  const most = state.service?.limits.characters, length = codePoints(text);
  if (!most || length <= most) return null;
  return new PageError("The text is too long", `It has ${length.toLocaleString("en")} characters; the limit is `
    + `${most.toLocaleString("en")}. Shorten it, or process it in parts.`);
}
