// @ts-check
/** The page: sends a text to the service and shows the result. */

import {create} from "../view/elements.js";
import {squeeze} from "../view/segments.js";
import {themeButton} from "../view/theme.js";
import {figure} from "../view/words.js";
import {PageError, request} from "./api.js";
import {fillMenus, showSettings, sliderValue} from "./controls.js";
import {setText, showEditor, updateMeter} from "./editor.js";
import {copyJson, saveCsv, saveJson} from "./export.js";
import {openFile, readableEndings} from "./files.js";
import {clearError, showError} from "./messages.js";
import {barIsSticky, page} from "./page.js";
import {cancel, changeSettings, run} from "./run.js";
import {chosenMethods, readAddress, state} from "./state.js";
import {listenToTeaching} from "./teaching.js";

/** @type {Record<string, string>} */
const SPEEDS = {exact: "All candidates are scored in full precision.",
  fast: "8-bit arithmetic, and attention weighting only for the top candidates: faster, slightly less accurate."};

/** Load the service's methods and limits, and set up the controls. */
async function start() {
  clearError();
  try {
    const [service, methods] = await Promise.all(["/v1/service", "/v1/methods"].map(async (path) => (
      (await request(path)).json())));
    state.service = service;
    state.methods = methods.methods;
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    showError(error, start);
    return;
  }
  const {model, speed, version} = /** @type {NonNullable<typeof state.service>} */ (state.service);
  page.service.textContent = `${model} · speed: ${speed} · version ${version}`;
  page.service.title = SPEEDS[speed] ?? "";
  page.file.accept = readableEndings().join(",");
  fillMenus();
  takeAddress();
  showSettings();
  updateMeter();
  page.root.dataset.ready = "";
}

const takeAddress = () => readAddress({top: page.top.input, lambda: page.lambda.input, kappa: page.kappa.input});

function listenToControls() {
  page.bar.addEventListener("submit", (event) => { event.preventDefault(); run(); });
  page.method.addEventListener("change", () => changeSettings({method: page.method.value}, {ask: true}));
  page.style.addEventListener("change", () => changeSettings({style: page.style.value}, {ask: true}));
  page.compare.addEventListener("change", () => changeSettings({compare: page.compare.value}, {ask: true}));
  page.language.addEventListener("change", () => changeSettings({language: page.language.value}, {ask: true}));
  page.top.input.addEventListener("input", () => changeSettings({top: Number(page.top.input.value)}));
  page.lambda.input.addEventListener("input", () => changeSettings({lambda: sliderValue("lambda")}));
  page.lambda.input.addEventListener("change", () => {
    if (chosenMethods().some((name) => state.notRescorable.has(name))) changeSettings({}, {ask: true});
  });
  page.kappa.input.addEventListener("input", () => { page.kappa.output.value = figure(page.kappa.input.value); });
  page.kappa.input.addEventListener("change", () => changeSettings({kappa: sliderValue("kappa")}, {ask: true}));
  page.reset.addEventListener("click", () => {
    changeSettings({lambda: null, kappa: null}, {ask: true});
    page.lambda.input.focus();
  });
  page.cancel.addEventListener("click", () => { cancel(); page.run.focus(); });
  page.edit.addEventListener("click", showEditor);
  page.copy.addEventListener("click", copyJson);
  page.json.addEventListener("click", saveJson);
  page.csv.addEventListener("click", saveCsv);
  page.keyCancel.addEventListener("click", () => page.keyDialog.close(""));
}

function listenToEditor() {
  page.text.addEventListener("input", () => {
    state.source = null;
    state.structure = {};
    updateMeter();
  });
  page.chooseFile.addEventListener("click", () => page.file.click());
  page.file.addEventListener("change", () => {
    const file = page.file.files?.[0];
    if (file) openFile(file);
    page.file.value = "";
  });
  addEventListener("dragover", (event) => { event.preventDefault(); page.dropZone.classList.add("is-over"); });
  addEventListener("dragleave", () => page.dropZone.classList.remove("is-over"));
  addEventListener("drop", (event) => {
    page.dropZone.classList.remove("is-over");
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    openFile(file);
  });
}

function listenToWindow() {
  addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); });
  addEventListener("hashchange", () => {
    if (!state.service) return;
    takeAddress();
    changeSettings({}, {ask: true});
  });
  new ResizeObserver(() => {
    const height = barIsSticky() ? page.bar.offsetHeight : 0;
    page.root.style.setProperty("--mv-top", `${height}px`);
    page.root.style.scrollPaddingTop = `${height + 8}px`;
  }).observe(page.bar);
}

/** A button for each sample text of the page. */
function offerSamples() {
  for (const template of document.querySelectorAll("template")) {
    const title = template.dataset.title ?? "";
    const button = create("button", {type: "button", class: "plain"}, title);
    const paragraphs = [title, ...Array.from(template.content.children, (child) => squeeze(child.textContent ?? ""))];
    button.addEventListener("click", () => { setText(paragraphs.join("\n\n")); run(); });
    page.samples.append(button);
  }
}

themeButton(page.theme, "mudy-theme");
listenToControls();
listenToEditor();
listenToWindow();
listenToTeaching();
offerSamples();
start();
