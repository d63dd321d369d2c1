// @ts-check
/** @import {FitResult} from "./api.js" */
/** @import {SegmentElement} from "../view/types.js" */
/** Teaching: the user corrects lists, and the weights are adapted to them. All of it is kept in memory alone. */

import {create} from "../view/elements.js";
import {squeeze} from "../view/segments.js";
import {plural} from "../view/words.js";
import {fit} from "./api.js";
import {showSettings} from "./controls.js";
import {download} from "./export.js";
import {announce} from "./messages.js";
import {page} from "./page.js";
import {startProgress, updateProgress} from "./progress.js";
import {SHOWN, attempt, run} from "./run.js";
import {hasStyles, state} from "./state.js";

const TITLE = 60; // characters of a text that name it
const WORD = "[\\p{L}\\p{M}\\p{N}]";
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Thai}]/u;

/** @type {Map<string, string[]>} the texts that were taught, with the keyphrases wanted for them */
const lessons = new Map();
/** @type {{text: string | null, removed: Set<string>, added: string[]}} the corrections of the text that is shown */
let draft = {text: null, removed: new Set(), added: []};
/** @type {FitResult | null} */
let fitted = null;

/** @param {string} phrase */
const folded = (phrase) => phrase.toLowerCase();

/** The list of the text that is shown: as taught before or as extracted, with the corrections. */
function wanted() {
  const reading = state.view?.readings.find(({method}) => hasStyles(method.method));
  const extracted = reading?.order.filter(({rank}) => rank <= state.settings.top).map(({text}) => squeeze(text)) ?? [];
  const phrases = [...lessons.get(state.shown?.text ?? "") ?? extracted, ...draft.added];
  return [...new Map(phrases.map((phrase) => [folded(phrase), phrase])).values()]
    .filter((phrase) => !draft.removed.has(folded(phrase)));
}

/** @param {string} phrase */
const escaped = (phrase) => squeeze(phrase).replace(/[$()*+./?[\\\]^{|}]/g, "\\$&");

/** @param {string} phrase @param {string} pattern */
const wholeWords = (phrase, pattern) => (UNSPACED.test(phrase) ? pattern : `(?<!${WORD})${pattern}(?!${WORD})`);

/**
 * A phrase as the text has it, with whole words; null if it does not occur.
 * @param {string} phrase
 */
function inText(phrase) {
  const text = squeeze(state.shown?.text ?? ""), pattern = escaped(phrase);
  const whole = new RegExp(wholeWords(phrase, pattern), "iu");
  return (whole.exec(text) ?? new RegExp(`${WORD}*${pattern}${WORD}*`, "iu").exec(text))?.[0] ?? null;
}

/** Mark the phrases that were added to the list wherever they occur in the text. */
function highlightAdded() {
  if (!("highlights" in CSS)) return;
  const extracted = new Set(state.view?.readings.flatMap(({order}) => order
    .filter(({rank}) => rank <= state.settings.top).map(({text}) => folded(squeeze(text)))));
  const added = page.add.hidden ? [] : wanted().filter((phrase) => !extracted.has(folded(phrase)));
  const ranges = added.flatMap((phrase) => {
    const pattern = new RegExp(wholeWords(phrase, escaped(phrase).replaceAll(" ", "\\s+")), "giu");
    return state.view?.panels.flatMap((panel) => Array.from(panel.reading.text.matchAll(pattern),
      ({0: words, index}) => panel.rangeOf(index, index + words.length))) ?? [];
  });
  CSS.highlights.set("added", new Highlight(...ranges));
}

/** @param {string} phrase */
function remove(phrase) {
  const index = wanted().indexOf(phrase);
  draft.removed.add(folded(phrase));
  draft.added = draft.added.filter((other) => folded(other) !== folded(phrase));
  draw();
  const buttons = page.wanted.querySelectorAll("button");
  (buttons[Math.min(index, buttons.length - 1)] ?? page.phrase).focus();
  announce(`Removed: ${phrase}.`);
}

function add() {
  const phrase = inText(page.phrase.value);
  page.phraseError.textContent = phrase ? "" : "This phrase does not occur in the text.";
  if (!phrase) return;
  draft.removed.delete(folded(phrase));
  draft.added.push(phrase);
  page.phrase.value = "";
  draw();
  announce(`Added: ${phrase}.`);
}

function keep() {
  const list = wanted(), {text} = draft;
  if (text == null || !list.length) return;
  lessons.set(text, list);
  draft = {text, removed: new Set(), added: []};
  draw();
  announce(page.taught.textContent ?? "");
}

/** @param {string} text */
function forget(text) {
  lessons.delete(text);
  draw();
  page.keep.focus();
}

async function adapt() {
  await attempt(async (signal) => {
    startProgress();
    updateProgress({state: "working", elapsed: 0});
    const examples = Array.from(lessons, ([text, keyphrases]) => ({text, keyphrases}));
    fitted = await fit({examples, style: state.settings.style}, signal);
    use(fitted.helps);
    announce(fitted.summary);
  }, adapt);
}

/** @param {boolean} adapted  whether the adapted weights are used */
function use(adapted) {
  state.weights = adapted && fitted ? fitted.weights : null;
  showSettings();
  draw();
  if (!page.result.hidden) run();
}

function saveWeights() {
  if (fitted) download(`${JSON.stringify(fitted.weights, null, 1)}\n`, "application/json", "weights.json");
}

function saveLessons() {
  const lines = Array.from(lessons, ([text, keyphrases]) => `${JSON.stringify({text, keyphrases})}\n`);
  download(lines.join(""), "application/jsonl", "examples.jsonl");
}

function draw() {
  const text = state.shown?.text ?? null, list = wanted(), known = text != null && lessons.has(text);
  const changed = draft.removed.size > 0 || draft.added.length > 0;
  const least = state.service?.limits.examples ?? 3, full = !known && lessons.size >= (state.service?.limits.texts ?? Infinity);
  page.add.hidden = page.teaching.hidden || !state.view?.readings.some(({method}) => hasStyles(method.method));
  page.wanted.replaceChildren(...list.map((phrase) => {
    const button = create("button", {type: "button", "aria-label": `Remove ${phrase}`}, create("bdi", {}, phrase));
    button.addEventListener("click", () => remove(phrase));
    return create("li", {}, button);
  }));
  page.keep.textContent = !known ? "Teach this list" : changed ? "Teach the changed list" : "Taught";
  page.keep.disabled = !list.length || full || (known && !changed);
  page.taught.textContent = `${Math.min(lessons.size, least)} of ${least} texts taught.`
    + (lessons.size < least ? " Teach this list, then extract another text." : ` ${lessons.size - least
      ? `In all, ${plural(lessons.size, "text")}. ` : ""}You can adapt now, or teach more.`);
  page.lessons.replaceChildren(...Array.from(lessons, ([lesson, phrases]) => {
    const title = squeeze(lesson.slice(0, 4 * TITLE)), name = title.length > TITLE ? `${title.slice(0, TITLE)}…` : title;
    const button = create("button", {type: "button", class: "plain", "aria-label": `Forget ${name}`}, "Forget");
    button.addEventListener("click", () => forget(lesson));
    return create("li", {}, create("bdi", {}, name), ` (${plural(phrases.length, "phrase")})`, button);
  }));
  page.adapt.disabled = lessons.size < least;
  page.adapted.hidden = !fitted;
  page.adaptedSummary.textContent = fitted?.summary ?? "";
  page.adaptedUse.hidden = !fitted?.helps;
  page.useAdapted.checked = state.weights != null;
  page.saveLessons.disabled = !lessons.size;
  highlightAdded();
}

/** The words selected in a text, which is where the phrase field takes them from. */
function takeSelection() {
  const selection = getSelection(), node = selection?.anchorNode;
  const element = node instanceof Element ? node : node?.parentElement;
  if (page.add.hidden || !selection || selection.isCollapsed || !element?.closest(".mv-text")) return;
  setPhrase(squeeze(selection.toString()));
}

/** @param {string} phrase */
function setPhrase(phrase) {
  page.phrase.value = inText(phrase) ?? phrase;
  page.phraseError.textContent = "";
}

export function listenToTeaching() {
  page.teach.addEventListener("click", () => {
    page.teaching.hidden = !page.teaching.hidden;
    page.teach.setAttribute("aria-expanded", String(!page.teaching.hidden));
    draw();
  });
  page.view.addEventListener(SHOWN, () => {
    const text = state.shown?.text ?? null;
    if (draft.text !== text) draft = {text, removed: new Set(), added: []};
    draw();
  });
  page.view.addEventListener("click", (event) => {
    const element = /** @type {Element} */ (event.target).closest(".mv-text .mv-occurrence");
    const phrase = /** @type {SegmentElement | null} */ (element)?.segment?.owner.phrase;
    if (phrase && !page.add.hidden && getSelection()?.isCollapsed) setPhrase(phrase.text);
  });
  document.addEventListener("selectionchange", takeSelection);
  page.add.addEventListener("submit", (event) => { event.preventDefault(); add(); });
  page.keep.addEventListener("click", keep);
  page.adapt.addEventListener("click", adapt);
  page.useAdapted.addEventListener("change", () => use(page.useAdapted.checked));
  page.saveWeights.addEventListener("click", saveWeights);
  page.saveLessons.addEventListener("click", saveLessons);
}
