// @ts-check
/** @import {Range} from "./types.js" */
/** Offsets, and how a text is cut into blocks and segments. */

// eslint-disable-next-line no-control-regex
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g; // as Python's str.split
const LINE_AFTER = 1200; // characters after which a line break ends a block, if no blank line came before
const SENTENCE_AFTER = 5000; // characters after which a sentence does

/**
 * Map an index in code points to one in UTF-16 units.
 * @param {string} text
 * @returns {(index: number) => number}
 */
export function utf16Offsets(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (index) => index;
  const offsets = [0];
  for (const character of text) offsets.push(offsets[offsets.length - 1] + character.length);
  return (index) => offsets[Math.min(index, offsets.length - 1)];
}

/** @param {string} text */
export const squeeze = (text) => text.replace(SPACE, " ").trim();

/**
 * Cut a text where spans begin and end, in order; parts without a span are left out.
 * @template {Range} T
 * @param {T[]} spans
 * @param {Range[]} gold
 * @returns {{from: number, to: number, spans: T[], gold: boolean}[]}
 */
export function segments(spans, gold = []) {
  const cuts = [...new Set([...spans, ...gold].flatMap((span) => [span.from, span.to]))].sort((a, b) => a - b);
  const waiting = [...spans].sort((a, b) => a.from - b.from || a.to - b.to);
  const goldWaiting = [...gold].sort((a, b) => a.from - b.from);
  const result = [];
  /** @type {T[]} */
  let open = [];
  /** @type {Range[]} */
  let openGold = [];
  let i = 0, j = 0;
  for (let k = 0; k + 1 < cuts.length; k++) {
    const from = cuts[k], to = cuts[k + 1];
    while (i < waiting.length && waiting[i].from <= from) open.push(waiting[i++]);
    while (j < goldWaiting.length && goldWaiting[j].from <= from) openGold.push(goldWaiting[j++]);
    open = open.filter((span) => span.to > from);
    openGold = openGold.filter((span) => span.to > from);
    if (open.length || openGold.length) result.push({from, to, spans: [...open], gold: openGold.length > 0});
  }
  return result;
}

/**
 * Cut a text after blank lines, in long passages after a line or at last a sentence; never within a span.
 * @param {string} text
 * @param {Range[]} spans
 * @returns {Range[]}
 */
export function blocks(text, spans) {
  const ordered = [...spans].sort((a, b) => a.from - b.from);
  const result = [];
  let start = 0, i = 0, reach = 0;
  for (const gap of text.matchAll(/\n(?:[^\S\n]*\n)*|[.!?]\s|[。！？]/g)) {
    const least = gap[0][0] !== "\n" ? SENTENCE_AFTER : gap[0].length > 1 ? 0 : LINE_AFTER;
    const cut = gap.index + gap[0].length;
    while (i < ordered.length && ordered[i].from < cut) reach = Math.max(reach, ordered[i++].to);
    if (cut < text.length && reach <= cut && cut - start > least) {
      result.push({from: start, to: cut});
      start = cut;
    }
  }
  if (start < text.length) result.push({from: start, to: text.length});
  return result;
}
