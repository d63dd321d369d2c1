// @ts-check
/** @import {ExplanationData, Phrase, Range, ViewOptions, ViewState} from "./types.js" */
/**
 * A text coloured by one or several methods, with the rankings beside it.
 *
 *   const view = new View(element, data, {topN: 10});
 *   view.set({topN: 5, lambda: 1.2});
 *   view.update(data);
 *
 * `data` is what Explanation.to_dict() gives, with the text and the methods' descriptions added. The view sends no requests.
 */

import {Card} from "./card.js";
import {create, slider} from "./elements.js";
import {Navigation} from "./navigation.js";
import {Panel} from "./panel.js";
import {Ranking} from "./ranking.js";
import {Reading} from "./reading.js";
import {STEPS} from "./rescore.js";
import {utf16Offsets} from "./segments.js";
import {figure, textNotes} from "./words.js";

const FIRST = 9000; // characters shown at once; the rest follows while the page is idle
const SLICE = 12; // milliseconds of work before the page may draw

let views = 0;

export class View {
  /** @param {HTMLElement} root @param {ExplanationData} data @param {ViewOptions} options */
  constructor(root, data, options = {}) {
    this.root = root;
    this.options = options;
    this.id = ++views;
    this.fillJob = 0;
    /** @type {ViewState} */
    this.state = {topN: options.topN ?? data.top_n ?? 10, lambda: options.lambda ?? null};
    this.text = "";
    /** @type {Range[]} */
    this.gold = [];
    /** @type {Set<string>} */
    this.goldRanges = new Set();
    /** @type {Reading[]} */
    this.readings = [];
    /** @type {Panel[]} */
    this.panels = [];
    /** @type {HTMLButtonElement[]} */
    this.tabs = [];
    this.topLabel = create("span");
    /** @type {number | null} which method a narrow screen shows */
    this.shownPanel = null;
    this.card = new Card(this);
    this.ranking = new Ranking(this);
    this.navigation = new Navigation(this);
    this.listeners = new AbortController();
    this.navigation.listen(this.listeners.signal);
    addEventListener("beforeprint", () => {
      for (const panel of this.panels) for (const block of panel.blocks) panel.fill(block);
    }, {signal: this.listeners.signal});
    this.update(data);
  }

  /** @param {ExplanationData} data */
  update(data) {
    const offset = utf16Offsets(data.text), {root} = this;
    this.text = data.text;
    this.gold = (data.gold ?? []).flatMap((phrase) => phrase.places)
      .map(({start, end}) => ({from: offset(start), to: offset(end)}));
    this.goldRanges = new Set(this.gold.map(({from, to}) => `${from}-${to}`));
    if (data.methods.length !== this.readings.length) this.shownPanel = null; // the last method
    this.readings = data.methods.map((method) => (
      new Reading(method, data.descriptions?.[method.method], data.text, offset)));
    if (this.state.lambda != null) for (const reading of this.readings) reading.rank(this.state.lambda);
    this.card.element.remove();
    this.card = new Card(this);
    this.panels = this.readings.map((reading, index) => new Panel(this, reading, index));
    this.ranking = new Ranking(this);
    this.navigation.attach();
    root.classList.add("mudy-view");
    root.dataset.count = String(this.readings.length);
    root.replaceChildren(...this.header(data), create("div", {class: "mv-layout"}, this.ranking.element,
      ...this.panels.map((panel) => panel.element)));
    this.showPanel(Math.min(this.shownPanel ?? Infinity, this.readings.length - 1));
    this.ranking.draw();
    this.fillAll();
  }

  /**
   * The header: the controls, if wanted, the legend, and notes on the text.
   * @param {ExplanationData} data
   */
  header(data) {
    const notes = textNotes(this.readings);
    this.tabs = this.readings.length > 1 ? this.readings.map((reading, index) => {
      const tab = create("button", {type: "button"}, reading.title);
      tab.addEventListener("click", () => this.showPanel(index));
      return tab;
    }) : [];
    return [
      this.options.controls === false ? null : this.controls(),
      this.tabs.length
        ? create("div", {class: "mv-tabs", role: "group", "aria-label": "Method shown"}, ...this.tabs) : null,
      this.legend(data),
      notes.length ? create("p", {class: "mv-notes"}, notes.join(" · ")) : null,
    ].filter((element) => element != null);
  }

  controls() {
    const {topN, lambda} = this.state;
    const most = Math.max(1, ...this.readings.map((reading) => reading.phrases.length));
    const sliders = [slider({label: "Top phrases", min: 1, max: Math.min(50, most), step: 1, value: topN,
      onInput: (value) => this.change({topN: value})})];
    const reading = this.readings.find(({rescorable}) => rescorable);
    if (reading) {
      const {lambda_} = reading.method.settings;
      sliders.push(slider({label: "λ, weight of attention", min: 0, max: Math.max(5, 2 * lambda_), step: 0.05,
        value: lambda ?? lambda_, hint: `The method was run with ${figure(lambda_)}.`,
        onInput: (value) => this.change({lambda: value})}));
    }
    return create("div", {class: "mv-controls", role: "group", "aria-label": "Ranking"}, ...sliders);
  }

  /** @param {Partial<ViewState>} next */
  change(next) {
    this.set(next);
    this.options.onChange?.({...this.state});
  }

  /** @param {ExplanationData} data */
  legend(data) {
    this.topLabel = create("span", {}, this.topWords());
    const scale = create("span", {class: "mv-scale", "aria-hidden": "true"},
      ...Array.from({length: STEPS}, (_, step) => create("i", {class: `heat-${step}`})));
    const absent = (data.gold ?? []).filter((phrase) => !phrase.places.length).map((phrase) => phrase.text);
    return create("div", {class: "mv-legend"},
      create("span", {class: "mv-key"}, this.topLabel, ": lower score", scale, "higher score"),
      create("span", {class: "mv-key"}, create("u", {class: "is-best"}, "best occurrence")),
      this.gold.length ? create("span", {class: "mv-key"}, create("em", {class: "gold"}, "gold keyphrase")) : null,
      absent.length ? create("span", {class: "mv-key"}, "Gold keyphrases not in this text: ",
        ...absent.flatMap((phrase, index) => [index ? ", " : "", create("bdi", {}, phrase)])) : null);
  }

  topWords() {
    return this.state.topN === 1 ? "Top phrase" : `Top ${this.state.topN} phrases`;
  }

  /** @param {number} index */
  showPanel(index) {
    this.shownPanel = index;
    this.tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === index)));
    this.panels.forEach((panel, i) => panel.element.classList.toggle("is-shown", i === index));
    this.ranking.columns.forEach(({element}, i) => element.classList.toggle("is-shown", i === index));
  }

  /** The first screens of all panels now, the rest in slices. */
  fillAll() {
    const job = ++this.fillJob;
    for (const panel of this.panels) {
      panel.estimateHeights();
      for (const block of panel.blocks) if (block.from < FIRST) panel.fill(block);
      panel.setTabStop(panel.segments[0]);
    }
    const rest = this.panels.flatMap((panel) => panel.blocks.map((block) => ({panel, block})));
    rest.sort((a, b) => a.block.from - b.block.from);
    let next = 0;
    const fillSlice = () => {
      if (job !== this.fillJob) return;
      const end = performance.now() + SLICE;
      for (; next < rest.length && performance.now() < end; next++) rest[next].panel.fill(rest[next].block);
      if (next < rest.length) whenIdle(fillSlice); else this.root.dataset.ready = "";
    };
    delete this.root.dataset.ready;
    whenIdle(fillSlice);
  }

  /** @param {Partial<ViewState>} next */
  set({topN = this.state.topN, lambda = this.state.lambda}) {
    const moved = lambda !== this.state.lambda;
    if (!moved && topN === this.state.topN) return;
    this.state = {topN, lambda};
    if (moved) for (const reading of this.readings) if (reading.rescorable) reading.rank(lambda);
    for (const panel of this.panels) panel.repaint();
    this.ranking.draw();
    this.topLabel.textContent = this.topWords();
    this.card.refresh();
    this.navigation.highlight(this.card.occurrence);
  }

  /**
   * Whether an occurrence of a phrase equals an occurrence of a gold keyphrase.
   * @param {Phrase} phrase
   */
  isGold(phrase) {
    return phrase.occurrences.some(({from, to}) => this.goldRanges.has(`${from}-${to}`));
  }

  topInset() {
    return this.options.topInset?.() ?? 0;
  }
}

/** @param {() => void} act */
function whenIdle(act) {
  if ("requestIdleCallback" in window) requestIdleCallback(act, {timeout: 300}); else setTimeout(act);
}
