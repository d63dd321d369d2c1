// @ts-check
/** The elements of index.html that the scripts use. */

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`The page has no such element: #${id}`);
  return element;
}

/** @param {string} id */
const slider = (id) => ({input: byId(id, HTMLInputElement), output: byId(`${id}-value`, HTMLOutputElement)});

export const page = {
  root: document.documentElement,
  service: byId("service", HTMLElement),
  theme: byId("theme", HTMLButtonElement),
  bar: byId("bar", HTMLFormElement),
  method: byId("method", HTMLSelectElement),
  style: byId("style", HTMLSelectElement),
  styleHelp: byId("style-help", HTMLElement),
  compare: byId("compare", HTMLSelectElement),
  language: byId("language", HTMLSelectElement),
  top: slider("top"),
  lambda: slider("lambda"),
  kappa: slider("kappa"),
  reset: byId("reset", HTMLButtonElement),
  run: byId("run", HTMLButtonElement),
  progress: byId("progress", HTMLElement),
  progressBar: byId("progress-bar", HTMLElement),
  progressText: byId("progress-text", HTMLElement),
  cancel: byId("cancel", HTMLButtonElement),
  status: byId("status", HTMLElement),
  notice: byId("notice", HTMLElement),
  editor: byId("editor", HTMLElement),
  dropZone: byId("drop-zone", HTMLElement),
  text: byId("text", HTMLTextAreaElement),
  gold: byId("gold", HTMLTextAreaElement),
  meter: byId("meter", HTMLElement),
  meterBar: byId("meter-bar", HTMLElement),
  meterText: byId("meter-text", HTMLElement),
  chooseFile: byId("choose", HTMLButtonElement),
  file: byId("file", HTMLInputElement),
  samples: byId("samples", HTMLElement),
  result: byId("result", HTMLElement),
  resultTitle: byId("result-title", HTMLElement),
  view: byId("view", HTMLElement),
  edit: byId("edit", HTMLButtonElement),
  teach: byId("teach", HTMLButtonElement),
  teaching: byId("teaching", HTMLElement),
  wanted: byId("wanted", HTMLElement),
  add: byId("add", HTMLFormElement),
  phrase: byId("phrase", HTMLInputElement),
  phraseError: byId("phrase-error", HTMLElement),
  keep: byId("keep", HTMLButtonElement),
  taught: byId("taught", HTMLElement),
  lessons: byId("lessons", HTMLElement),
  saveLessons: byId("save-lessons", HTMLButtonElement),
  adapt: byId("adapt", HTMLButtonElement),
  adapted: byId("adapted", HTMLElement),
  adaptedSummary: byId("adapted-summary", HTMLElement),
  adaptedUse: byId("adapted-use", HTMLElement),
  useAdapted: byId("use-adapted", HTMLInputElement),
  saveWeights: byId("save-weights", HTMLButtonElement),
  copy: byId("copy", HTMLButtonElement),
  json: byId("json", HTMLButtonElement),
  csv: byId("csv", HTMLButtonElement),
  keyDialog: byId("key-dialog", HTMLDialogElement),
  keyMessage: byId("key-message", HTMLElement),
  keyCancel: byId("key-cancel", HTMLButtonElement),
  key: byId("key", HTMLInputElement),
};

/** Whether the bar stays at the top of the window while the text scrolls. */
export const barIsSticky = () => getComputedStyle(page.bar).position === "sticky";
