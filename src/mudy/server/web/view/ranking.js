// @ts-check
/** @import {Phrase, Reading, View} from "./types.js" */
/** The ranked lists, and the lines between them. */

import {create, createSvg, reducedMotion} from "./elements.js";
import {STEPS} from "./rescore.js";
import {figure, ordinal, plural} from "./words.js";

/** @typedef {HTMLButtonElement & {phrase: Phrase}} RowButton */
/** @typedef {SVGPathElement & {phrase: Phrase}} Slope */
/** @typedef {{number: HTMLElement, phrase: HTMLElement, score: HTMLElement, moved: HTMLElement, other: HTMLElement,
 *   where: HTMLElement, button: RowButton, item: HTMLLIElement}} Row */
/** @typedef {{reading: Reading, list: HTMLOListElement, element: HTMLElement, slopes: SVGSVGElement | null,
 *   tags: HTMLElement, sections: HTMLElement | null, rows: Map<Phrase, Row>, shown: Phrase[]}} Column */

/**
 * The positions of phrases in the text, one row per phrase; taller and warmer marks have higher scores.
 * @param {(Phrase | null)[]} phrases
 * @param {number} length  of the text
 */
export function strip(phrases, length) {
  const rows = phrases.filter((phrase) => phrase != null);
  const svg = createSvg("svg", {class: "mv-strip", viewBox: `0 0 1000 ${rows.length * 10}`, preserveAspectRatio: "none",
    "aria-hidden": "true"});
  rows.forEach((phrase, row) => {
    const floor = row * 10 + 10;
    svg.append(createSvg("path", {class: "mv-base", d: `M0 ${floor}H1000`}));
    const paths = Array.from({length: STEPS}, () => "");
    const drawn = new Set();
    for (const {from, step} of phrase.occurrences) {
      const x = Math.round(1000 * from / Math.max(1, length)), mark = x * STEPS + step;
      if (!drawn.has(mark)) paths[step] += `M${x} ${floor}V${floor - 3 - step}`;
      drawn.add(mark);
    }
    paths.forEach((d, step) => { if (d) svg.append(createSvg("path", {class: `tick-${step}`, d})); });
  });
  return svg;
}

/** The ranked list of each method, side by side. */
export class Ranking {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.element = create("section", {class: "mv-rankings", "aria-label": "Ranking"});
    this.columns = view.readings.map((reading, index) => this.addColumn(reading, index));
  }

  /**
   * @param {Reading} reading
   * @param {number} index
   * @returns {Column}
   */
  addColumn(reading, index) {
    const list = create("ol", {class: "mv-list"});
    const tags = create("p", {class: "mv-suggested"}), sections = this.sectionLists(reading);
    const element = create("div", {class: "mv-ranking"}, create("h3", {}, reading.title), list, tags, sections);
    const slopes = index
      ? createSvg("svg", {class: "mv-slopes", "aria-hidden": "true", preserveAspectRatio: "none"}) : null;
    if (slopes) this.element.append(slopes);
    this.element.append(element);
    return {reading, list, element, slopes, tags, sections, rows: new Map(), shown: []};
  }

  /**
   * The keyphrases of each section, if the text has several; each leads to its best occurrence there.
   * @param {Reading} reading
   */
  sectionLists(reading) {
    const sections = reading.method.sections ?? [];
    if (sections.length < 2) return null;
    return create("details", {class: "mv-sections"}, create("summary", {}, `${sections.length} sections`),
      ...sections.flatMap(({heading, keyphrases}, index) => [
        create("h4", {dir: "auto"}, heading ?? `Part ${index + 1}`),
        create("ul", {}, ...keyphrases.map(({text, occurrences: [best]}) => {
          const occurrence = best && reading.bySpan.get(`${best.start}:${best.end}`);
          const words = create("bdi", {}, text);
          if (!occurrence) return create("li", {}, words);
          const link = create("button", {type: "button", class: "mv-link"}, words);
          link.addEventListener("click", () => this.view.navigation.goTo(occurrence));
          return create("li", {}, link);
        }))]));
  }

  draw() {
    for (const column of this.columns) this.fill(column);
    this.columns.forEach((column, index) => {
      if (column.slopes) drawSlopes(column.slopes, this.columns[index - 1], column);
    });
  }

  /** @param {Column} column */
  fill(column) {
    const {reading, list, rows, tags, sections} = column, {topN} = this.view.state;
    const shown = reading.order.filter(({rank}) => rank <= topN);
    const suggested = reading.suggested.filter(({rank}) => rank <= topN)
      .map(({rank, text, score}) => `${rank}. ${text} ${figure(score)}`).join(", ");
    tags.textContent = suggested && `From history, not in this text: ${suggested}`;
    sections?.toggleAttribute("hidden", reading.lambda != null && reading.lambda !== reading.method.settings.lambda_);
    const focused = list.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null;
    const written = shown.map((phrase) => {
      const row = rows.get(phrase) ?? newRow(phrase);
      rows.set(phrase, row);
      this.write(row, phrase);
      return row;
    });
    list.replaceChildren(...written.map((row) => row.item));
    if (!shown.length) list.append(create("li", {class: "mv-none"}, "No keyphrases found in this text."));
    animateMoves(column, shown);
    column.shown = shown;
    if (focused?.isConnected) focused.focus({preventScroll: true});
    if (written.length && !written.some(({button}) => button.tabIndex === 0)) written[0].button.tabIndex = 0;
  }

  /** @param {Row} row @param {Phrase} phrase */
  write(row, phrase) {
    const moved = phrase.originalRank - phrase.rank, {readings, text, state} = this.view;
    const others = readings.filter((reading) => reading !== phrase.reading)
      .map((reading) => ({title: reading.title, rank: reading.counterpart(phrase)?.rank}));
    const gold = this.view.isGold(phrase);
    row.number.textContent = String(phrase.rank);
    row.phrase.replaceChildren(gold ? create("em", {class: "gold"}, phrase.text) : phrase.text);
    row.score.textContent = figure(phrase.score);
    row.moved.textContent = moved ? (moved > 0 ? "↑" : "↓") + Math.abs(moved) : "";
    row.moved.dataset.way = moved > 0 ? "up" : "down";
    row.other.replaceChildren(...others.flatMap(({title, rank}, index) => [
      index ? ", " : "", create("span", {class: "mv-other-name"}, `${title} `), String(rank ?? "–")]));
    row.button.classList.toggle("is-out", others.every(({rank}) => rank == null || rank > state.topN));
    row.where.replaceChildren(strip([phrase], text.length));
    row.button.title = phrase.text;
    row.button.setAttribute("aria-description", [plural(phrase.occurrences.length, "occurrence"), gold ? "gold" : "",
      moved ? `${moved > 0 ? "up" : "down"} ${Math.abs(moved)}` : "",
      ...others.map(({title, rank}) => (rank ? `${ordinal(rank)} with ${title}` : `not found by ${title}`))]
      .filter(Boolean).join(", "));
  }

  /**
   * Mark the rows and lines of these phrases, and no others.
   * @param {Set<Phrase>} phrases
   */
  highlight(phrases) {
    for (const {rows, slopes} of this.columns) {
      for (const [phrase, {button}] of rows) button.classList.toggle("is-highlighted", phrases.has(phrase));
      for (const slope of slopes?.children ?? []) {
        slope.classList.toggle("is-highlighted", phrases.has(/** @type {Slope} */ (slope).phrase));
      }
    }
  }
}

/**
 * @param {Phrase} phrase
 * @returns {Row}
 */
function newRow(phrase) {
  const parts = {
    number: create("span", {class: "mv-number"}), phrase: create("bdi", {class: "mv-phrase"}),
    score: create("span", {class: "mv-score", title: "score"}), moved: create("span", {class: "mv-moved", "aria-hidden": "true"}),
    other: create("span", {class: "mv-other", "aria-hidden": "true"}), where: create("span", {class: "mv-where"}),
  };
  const button = create("button", {type: "button", class: "mv-row", tabindex: "-1"}, ...Object.values(parts));
  return {...parts, button: Object.assign(button, {phrase}), item: create("li", {}, button)};
}

/**
 * Animate rows from their previous positions.
 * @param {Column} column
 * @param {Phrase[]} shown
 */
function animateMoves(column, shown) {
  if (!column.shown.length || reducedMotion()) return;
  const positions = new Map(column.shown.map((phrase, index) => [phrase, index]));
  const height = column.rows.get(shown[0])?.item.offsetHeight ?? 0;
  shown.forEach((phrase, index) => {
    const before = positions.get(phrase);
    if (before === index) return;
    const from = before == null ? {opacity: 0} : {transform: `translateY(${(before - index) * height}px)`};
    column.rows.get(phrase)?.item.animate([from, {opacity: 1, transform: "none"}], {duration: 240, easing: "ease-out"});
  });
}

/**
 * A line for each phrase that two neighbouring rankings share; a stub if only one shows it.
 * @param {SVGSVGElement} svg
 * @param {Column} left
 * @param {Column} right
 */
function drawSlopes(svg, left, right) {
  const count = Math.max(left.shown.length, right.shown.length, 1);
  svg.setAttribute("viewBox", `0 0 100 ${count * 10}`);
  svg.style.setProperty("--rows", String(count));
  /** @param {string} way @param {Phrase} phrase @param {string} d */
  const line = (way, phrase, d) => Object.assign(createSvg("path", {class: `mv-slope is-${way}`, d}), {phrase});
  const rest = new Map(right.shown.map((phrase, index) => [phrase, index]));
  const lines = left.shown.map((phrase, a) => {
    const other = right.reading.counterpart(phrase), b = other ? rest.get(other) : undefined, y = a * 10 + 5;
    if (!other || b == null) return line("out", phrase, `M0 ${y}h12`);
    rest.delete(other);
    const z = b * 10 + 5;
    return line(b < a ? "up" : b > a ? "down" : "level", phrase, `M0 ${y}C45 ${y} 55 ${z} 100 ${z}`);
  });
  for (const [phrase, b] of rest) lines.push(line("out", phrase, `M100 ${b * 10 + 5}h-12`));
  svg.replaceChildren(...lines);
}
