// @ts-check
/** The bar: method menus and sliders. */

import {create} from "../view/elements.js";
import {figure, languageName} from "../view/words.js";
import {page} from "./page.js";
import {answerKey, chosenMethods, hasStyles, hasWeights, methodInfo, recommended, state} from "./state.js";

const EFFECTS = {lambda: "Updates the ranking immediately.", kappa: "Runs the model again."};
const SETTING_NAMES = /** @type {const} */ ({lambda: "lambda_", kappa: "kappa"});
const NEEDS = {backbone: "Language model", encoder: "Sentence encoder", chat: "Chat model",
  none: "No model"};

/** The methods, grouped by the model they need; unavailable ones say why. */
export function fillMenus() {
  fillMenu(page.method);
  fillMenu(page.compare);
  page.compare.prepend(create("option", {value: ""}, "none"));
  page.style.replaceChildren(...Object.entries(state.service?.styles ?? {}).map(([name, words]) => create("option",
    {value: name, title: words}, name)));
  const languages = (state.service?.languages ?? []).map((code) => ({code, name: languageName(code)}));
  languages.sort((one, other) => one.name.localeCompare(other.name, "en"));
  page.language.replaceChildren(create("option", {value: "auto"}, "auto"),
    ...languages.map(({code, name}) => create("option", {value: code}, name)));
}

/** @param {HTMLSelectElement} select */
function fillMenu(select) {
  const groups = Object.entries(NEEDS).map(([needs, label]) => {
    const methods = state.methods.filter((method) => (method.asks ?? "none") === needs);
    const why = needs === "chat" ? "no chat model configured" : "unavailable";
    return create("optgroup", {label}, ...methods.map(({name, title, description, available}) => create("option",
      {value: name, disabled: !available, "data-off": !available, title: description},
      available ? title : `${title} – ${why}`)));
  });
  select.replaceChildren(...groups.filter((group) => group.children.length));
}

/** Update all controls to show the settings. */
export function showSettings() {
  const {settings, answers} = state, weighted = chosenMethods().filter(hasWeights);
  for (const name of /** @type {const} */ (["method", "compare"])) {
    page[name].value = settings[name];
    page[name].title = methodInfo(settings[name])?.description ?? "";
  }
  for (const option of page.compare.options) {
    option.disabled = option.value === settings.method || option.dataset.off === "";
  }
  page.style.value = settings.style;
  page.style.disabled = state.weights != null;
  page.styleHelp.textContent = state.weights ? "Adapted to your texts. To choose a style, stop using the adapted weights."
    : `${settings.style}: ${state.service?.styles[settings.style] ?? ""}`;
  page.language.value = settings.language;
  page.top.input.value = page.top.output.value = String(settings.top);
  showOnly(".weights-only", weighted.length > 0);
  showOnly(".styles-only", chosenMethods().some(hasStyles));
  const known = weighted.some((name) => answers.methods.has(answerKey(name, {})));
  const descriptions = methodInfo(weighted[0])?.descriptions ?? {};
  for (const name of /** @type {const} */ (["lambda", "kappa"])) {
    const {input, output} = page[name], value = settings[name] ?? recommended(SETTING_NAMES[name]);
    const label = input.closest("label");
    if (label) label.title = `${descriptions[SETTING_NAMES[name]] ?? ""} ${EFFECTS[name]}`.trim();
    input.value = String(value);
    output.value = settings[name] == null && !known ? "auto" : figure(value);
  }
  page.reset.disabled = settings.lambda == null && settings.kappa == null;
}

/**
 * Show the controls that the chosen methods have, and hide those that they lack.
 * @param {string} selector
 * @param {boolean} shown
 */
function showOnly(selector, shown) {
  for (const element of document.querySelectorAll(selector)) {
    if (element instanceof HTMLElement) element.hidden = !shown;
  }
}

/**
 * A slider's value, or null if it is the recommended value.
 * @param {"lambda" | "kappa"} name
 */
export function sliderValue(name) {
  const value = Number(page[name].input.value);
  return value === recommended(SETTING_NAMES[name]) ? null : value;
}
