// @ts-check
/** @import {ExplanationData, MethodData} from "../view/types.js" */
/** @import {Settings} from "./state.js" */
/** Requests missing results from the service and shows them. */

import {rescorable} from "../view/rescore.js";
import {View} from "../view/view.js";
import {plural} from "../view/words.js";
import {PageError, explain} from "./api.js";
import {showSettings} from "./controls.js";
import {goldPhrases, isEditing, textError, textToSend} from "./editor.js";
import {announce, clearError, showError} from "./messages.js";
import {barIsSticky, page} from "./page.js";
import {startProgress, stopProgress, updateProgress} from "./progress.js";
import {answerKey, chosenMethods, hasWeights, settingsToSend, state, writeAddress} from "./state.js";

export const SHOWN = "mudy-shown"; // an event of the view: its lists may have changed
const RUN_AFTER = 350; // milliseconds without another change of a setting

let timer = 0;
/** @type {AbortController | null} */
let running = null;

/**
 * Change settings: update the URL, the controls and the view, and send a request if needed.
 * @param {Partial<Settings>} next
 * @param {{ask?: boolean}} options
 */
export function changeSettings(next, {ask = false} = {}) {
  Object.assign(state.settings, next);
  if (state.settings.compare === state.settings.method) state.settings.compare = "";
  writeAddress();
  showSettings();
  state.view?.set({topN: state.settings.top, lambda: lambdaInForce()});
  page.view.dispatchEvent(new Event(SHOWN));
  if (!ask || !state.shown || isEditing()) return;
  clearTimeout(timer);
  timer = setTimeout(run, RUN_AFTER);
}

const lambdaInForce = () => state.settings.lambda ?? state.shown?.methods.find(rescorable)?.settings.lambda_ ?? null;

export function cancel() {
  running?.abort();
  running = null;
  stopProgress();
}

/** Extract the keyphrases of the text in the editor. */
export async function run() {
  clearTimeout(timer);
  const text = textToSend(), names = chosenMethods(), wrong = textError(text);
  if (wrong) {
    running?.abort();
    showError(wrong);
    return;
  }
  await attempt(async (signal) => {
    const answers = await answersFor(text, names, signal);
    if (signal.aborted) return;
    const methods = names.map((name) => /** @type {MethodData} */ (answers.methods.get(answerKey(name))));
    const descriptions = Object.fromEntries(state.methods.map((method) => [method.name, method]));
    show({text, source: state.source, gold: answers.gold, methods, descriptions});
  }, run);
}

/**
 * Do work that the user can cancel, in the place of what runs now; errors are shown on the page.
 * @param {(signal: AbortSignal) => Promise<void>} work
 * @param {() => void} retry
 */
export async function attempt(work, retry) {
  running?.abort();
  const job = running = new AbortController();
  clearError();
  try {
    await work(job.signal);
  } catch (error) {
    if (error instanceof PageError) showError(error, retry);
    else if (error instanceof Error && error.name === "AbortError") announce("Cancelled.");
    else throw error;
  } finally {
    if (running === job) cancel();
  }
}

/**
 * The results for a text; only missing methods are requested.
 * @param {string} text
 * @param {string[]} names
 * @param {AbortSignal} signal
 */
async function answersFor(text, names, signal) {
  const gold = goldPhrases(), {structure, settings: {language}} = state;
  const subject = JSON.stringify([text, gold, language, structure]);
  if (state.answers.subject !== subject) state.answers = {subject, gold: [], methods: new Map()};
  const {answers} = state, missing = names.filter((name) => !answers.methods.has(answerKey(name)));
  if (!missing.length) return answers;
  const keys = missing.map((name) => answerKey(name));
  const settings = missing.map((name) => [name, settingsToSend(name)]).filter(([, sent]) => Object.keys(sent).length);
  startProgress();
  const body = {text, ...structure, methods: missing, settings: Object.fromEntries(settings), gold, top_n: null, language,
    per_section: true};
  const explanation = await explain(body, signal, updateProgress);
  explanation.methods.forEach((method, index) => answers.methods.set(keys[index], method));
  answers.gold = explanation.gold ?? [];
  return answers;
}

/** @param {ExplanationData} data */
function show(data) {
  const wasInEditor = page.editor.contains(document.activeElement);
  stopProgress();
  state.shown = data;
  for (const method of data.methods) {
    if (hasWeights(method.method) && !rescorable(method)) state.notRescorable.add(method.method);
  }
  page.editor.hidden = true;
  page.result.hidden = false;
  if (state.view) state.view.update(data);
  else state.view = new View(page.view, data, {topN: state.settings.top, controls: false, topInset});
  showSettings();
  state.view.set({topN: state.settings.top, lambda: lambdaInForce()});
  page.view.dispatchEvent(new Event(SHOWN));
  if (wasInEditor) page.resultTitle.focus({preventScroll: true});
  const count = data.methods[data.methods.length - 1].keyphrases.length;
  announce(count ? `${plural(count, "keyphrase")} found.` : "No keyphrases found.");
  if (!barIsSticky()) page.result.scrollIntoView();
}

/** The bottom edge of the bar if it covers the text. */
const topInset = () => (barIsSticky() ? page.bar.getBoundingClientRect().bottom : 0);
