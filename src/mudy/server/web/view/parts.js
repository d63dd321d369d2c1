// @ts-check
/** @import {OccurrenceData, PartInfo, Reading} from "./types.js" */
/** The parts of a score: values with their meaning, or contributions that add up to the score. */

import {create} from "./elements.js";
import {figure, formula, plural} from "./words.js";

const MOST_ROWS = 9; // contributions on a card; the smallest share a row
const NOT_PARTS = ["start", "end", "score", "page"];

/** @typedef {{part: PartInfo, value: number, start: number, width: number}} Contribution  in shares of the axis */

/**
 * Contributions on one axis that includes zero and all values, the largest first.
 * @param {{part: PartInfo, value: number}[]} parts
 * @returns {{zero: number, sum: number, bars: Contribution[]}}
 */
export function contributions(parts) {
  const values = parts.map(({value}) => value);
  const low = Math.min(0, ...values), high = Math.max(0, ...values), range = high - low || 1;
  const bars = parts.map(({part, value}) => (
    {part, value, start: (Math.min(0, value) - low) / range, width: Math.abs(value) / range}));
  bars.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return {zero: -low / range, sum: values.reduce((sum, value) => sum + value, 0), bars};
}

/**
 * The breakdown of a score shown on the card.
 * @param {Reading} reading
 * @param {OccurrenceData} facts
 * @returns {(HTMLElement | null)[]}
 */
export function scoreParts(reading, facts) {
  const parts = Object.keys(facts).filter((name) => !NOT_PARTS.includes(name))
    .map((name) => ({part: reading.part(name), value: facts[name]}));
  const added = parts.filter(({part}) => part.kind === "contribution");
  const others = parts.filter(({part}) => part.kind !== "contribution");
  return [
    others.length ? partsTable(reading, others) : null,
    ...(added.length ? contributionTable(added, facts.score) : [formulaLine(formula(reading.method, facts))]),
  ];
}

/** @param {string | null} words */
const formulaLine = (words) => (words ? create("p", {class: "mv-formula"}, words) : null);

/**
 * @param {Reading} reading
 * @param {{part: PartInfo, value: number}[]} parts
 */
function partsTable(reading, parts) {
  return table("mv-parts", parts.map(({part, value}) => {
    const share = reading.share(part.name, value);
    const bar = create("span", {class: "mv-bar"});
    if (share != null && part.name !== "lambda") {
      const fill = create("i");
      fill.style.inlineSize = percent(share);
      bar.append(fill);
      bar.title = `higher than at ${Math.round(share * 100)} % of the occurrences`;
    }
    return row(part.symbol, part.words, bar, figure(value));
  }));
}

/**
 * Signed bars from a common zero, and their sum.
 * @param {{part: PartInfo, value: number}[]} parts
 * @param {number} score
 */
function contributionTable(parts, score) {
  const {zero, sum, bars} = contributions(parts);
  const own = bars.length > MOST_ROWS ? MOST_ROWS - 1 : bars.length, others = bars.slice(own);
  const rows = bars.slice(0, own).map(({part, value, start, width}) => {
    const fill = create("i", {class: value < 0 ? "is-negative" : "is-positive"});
    fill.style.insetInlineStart = percent(start);
    fill.style.inlineSize = percent(width);
    const bar = create("span", {class: "mv-signed-bar"}, fill);
    bar.style.setProperty("--zero", percent(zero));
    return row(null, part.words || part.symbol, bar, signed(value));
  });
  if (others.length) {
    const rest = others.reduce((total, {value}) => total + value, 0);
    rows.push(row(null, `${others.length} smaller ones`, create("span"), signed(rest)));
  }
  const exact = Math.abs(sum - score) <= 1e-3 * Math.max(1, Math.abs(score));
  const total = `Sum of ${plural(parts.length, "contribution")}: ${figure(sum)}`;
  return [table("mv-parts mv-contributions", rows), formulaLine(exact ? total : `${total}, score ${figure(score)}`)];
}

/** @param {number} value */
const signed = (value) => (value > 0 ? "+" : "") + figure(value);

/** @param {number} share */
const percent = (share) => `${Math.round(share * 1000) / 10}%`;

/** @param {string} className @param {HTMLTableRowElement[]} rows */
const table = (className, rows) => create("table", {class: className}, create("tbody", {}, ...rows));

/**
 * @param {string | null} symbol
 * @param {string} words
 * @param {HTMLElement} bar
 * @param {string} value
 */
function row(symbol, words, bar, value) {
  const head = symbol == null
    ? [create("th", {scope: "row"}, words)]
    : [create("th", {scope: "row"}, symbol), create("td", {}, words)];
  return create("tr", {}, ...head, create("td", {}, bar), create("td", {class: "mv-value"}, value));
}
