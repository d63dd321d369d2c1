// @ts-check
/** @import {ExplanationData, GoldData, MethodData, MethodInfo} from "../view/types.js" */
/** @import {View} from "../view/view.js" */
/** The state of the page: settings, the service, and the results for the current text. */

/**
 * @typedef {object} Settings  the settings in the URL; null means the recommended value
 * @property {string} method
 * @property {string} style
 * @property {string} compare  empty for none
 * @property {string} language  "auto" or an ISO 639 code
 * @property {number} top
 * @property {number | null} lambda
 * @property {number | null} kappa
 *
 * @typedef {object} Service  /v1/service
 * @property {string} version
 * @property {string} model
 * @property {string} speed
 * @property {string} default_method
 * @property {string} default_style
 * @property {Record<string, string>} styles  what each is, in a few words
 * @property {{body_bytes: number, characters: number, texts: number, examples: number, seconds: number}} limits
 * @property {string[]} readers
 * @property {string[]} languages
 *
 * @typedef {MethodInfo & {name: string, description: string, asks: string | null, available: boolean,
 *   settings: Record<string, any>, descriptions: Record<string, string>}} Method  one of /v1/methods
 *
 * @typedef {{pages?: number[], blocks?: object[] | null}} Structure  of a file, as /v1/read returns it
 *
 * @typedef {object} Answers  the results for one text
 * @property {string | null} subject
 * @property {GoldData[]} gold
 * @property {Map<string, MethodData>} methods  by `answerKey`
 */

/** @type {Settings} */
const DEFAULTS = {method: "mudyplus", style: "subjects", compare: "", language: "auto", top: 10, lambda: null, kappa: null};

export const state = {
  settings: {...DEFAULTS},
  /** @type {Service | null} */
  service: null,
  /** @type {Method[]} */
  methods: [],
  /** @type {ExplanationData | null} what the view shows */
  shown: null,
  /** @type {View | null} */
  view: null,
  /** @type {string | null} the name of the file that the text came from */
  source: null,
  /** @type {Structure} */
  structure: {},
  /** @type {Answers} */
  answers: {subject: null, gold: [], methods: new Map()},
  /** @type {object | null} adapted weights, which take the place of a style */
  weights: null,
  /** @type {Set<string>} methods that need a new request when lambda changes */
  notRescorable: new Set(),
};

const defaultStyle = () => state.service?.default_style ?? DEFAULTS.style;

/** The methods to run, the comparison method first. */
export const chosenMethods = () => [...new Set([state.settings.compare, state.settings.method].filter(Boolean))];

/** @param {string | undefined} name */
export const methodInfo = (name) => state.methods.find((method) => method.name === name);

/**
 * Whether a method weighs attention, so that lambda and kappa mean something.
 * @param {string} name
 */
export function hasWeights(name) {
  const settings = methodInfo(name)?.settings ?? {};
  return "lambda_" in settings && "kappa" in settings;
}

/** @param {string} name */
export const hasStyles = (name) => "style" in (methodInfo(name)?.settings ?? {});

/** @param {string} name @returns {Record<string, number | string | object>} */
export function settingsToSend(name) {
  const {style, lambda, kappa} = state.settings;
  if (hasStyles(name) && state.weights) return {weights: state.weights};
  if (hasStyles(name)) return style === state.service?.default_style ? {} : {style};
  if (!hasWeights(name)) return {};
  return {...(kappa == null ? {} : {kappa}),
    ...(lambda != null && state.notRescorable.has(name) ? {lambda_: lambda} : {})};
}

/** @param {string} name @param {Record<string, number | string | object>} sent */
export const answerKey = (name, sent = settingsToSend(name)) => JSON.stringify([name, sent]);

/**
 * The recommended value of a setting: as used in the answer, else the default.
 * @param {string} setting
 * @returns {number}
 */
export function recommended(setting) {
  const method = chosenMethods().find(hasWeights);
  if (!method) return 0;
  return state.answers.methods.get(answerKey(method, {}))?.settings[setting]
    ?? methodInfo(method)?.settings[setting] ?? 0;
}

/**
 * Read the settings from the URL.
 * @param {Record<"top" | "lambda" | "kappa", {min: string, max: string}>} limits
 */
export function readAddress(limits) {
  const given = new URLSearchParams(location.hash.slice(1));
  /** @param {"top" | "lambda" | "kappa"} name */
  const number = (name) => {
    const value = Number.parseFloat(given.get(name) ?? ""), {min, max} = limits[name];
    return Number.isFinite(value) ? Math.min(Number(max), Math.max(Number(min), value)) : null;
  };
  const available = state.methods.filter((method) => method.available).map((method) => method.name);
  /** @param {string | null | undefined} name */
  const usable = (name) => (name && available.includes(name) ? name : null);
  const method = usable(given.get("method")) ?? usable(state.service?.default_method) ?? available[0];
  const style = given.get("style") ?? "";
  const compare = usable(given.get("compare")) ?? "", language = given.get("language") ?? "";
  state.settings = {method, style: style in (state.service?.styles ?? {}) ? style : defaultStyle(), compare: compare === method ? "" : compare,
    language: state.service?.languages.includes(language) ? language : DEFAULTS.language, top: Math.round(number("top") ?? DEFAULTS.top),
    lambda: number("lambda"), kappa: number("kappa")};
}

/** Write the settings that differ from the defaults to the URL. */
export function writeAddress() {
  const standard = Object.entries({...DEFAULTS, method: state.service?.default_method ?? DEFAULTS.method,
    style: defaultStyle()});
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(state.settings)) {
    if (value != null && !standard.some(([other, usual]) => other === name && usual === value)) given.set(name, String(value));
  }
  const hash = given.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}
