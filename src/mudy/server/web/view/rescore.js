// @ts-check
/** @import {ExplanationData, KeyphraseData, MethodData, OccurrenceData} from "./types.js" */
/** Ranks, colours and scores under another lambda: the same numbers as mudy.extraction.ranking and mudy.extraction.explanation. */

import {squeeze, utf16Offsets} from "./segments.js";

const DIGITS = 5; // significant digits that decide a rank
export const STEPS = 8; // colours of the scale

/** @typedef {{key: number, start: number, end: number}} RankKey */
/** @typedef {RankKey & {data: OccurrenceData, score: number}} ScoredOccurrence */
/** @typedef {{index: number, occurrences: ScoredOccurrence[]}} RankedPhrase  `index` in the method's keyphrases */

/**
 * A score as it counts in a ranking: rounded half to even, as Python does.
 * @param {number} score
 */
export function rounded(score) {
  const near = Number(score.toPrecision(DIGITS));
  if (Number(score.toPrecision(DIGITS + 1)) !== score) return near;
  const [mantissa, power] = Math.abs(score).toExponential(60).split("e");
  const figures = mantissa.replace(".", "");
  if (!/^50*$/.test(figures.slice(DIGITS)) || Number(figures[DIGITS - 1]) % 2) return near;
  return Math.sign(score) * Number(`${figures[0]}.${figures.slice(1, DIGITS)}e${power}`);
}

/**
 * How many of the sorted values are lower.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function countBelow(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

/**
 * For each score the share of the others that are lower, from 0 to 1.
 * @param {number[]} scores
 */
export function heat(scores) {
  const sorted = Float64Array.from(scores).sort();
  const last = Math.max(1, sorted.length - 1);
  return Array.from(scores, (score) => countBelow(sorted, score) / last);
}

/** @param {number} share */
export const colourStep = (share) => Math.min(STEPS - 1, Math.floor(share * STEPS));

/**
 * @param {RankKey} a
 * @param {RankKey} b
 */
const compare = (a, b) => b.key - a.key || a.start - b.start || a.end - b.end;

/** @param {KeyphraseData} keyphrase */
const bestKey = (keyphrase) => ({key: rounded(keyphrase.score), start: keyphrase.occurrences[0].start,
  end: keyphrase.occurrences[0].end});

/**
 * Whether a method's ranking under another lambda follows from what is known.
 * @param {MethodData} method
 */
export function rescorable({free = [], settings = {}, keyphrases = []}) {
  return free.includes("lambda_") && settings.lambda_ > 0
    && keyphrases.every((k, i) => i === 0 || compare(bestKey(keyphrases[i - 1]), bestKey(k)) <= 0)
    && keyphrases.every((k) => k.occurrences.every((o) => "AS" in o));
}

/**
 * The weight of attention at an occurrence under another lambda.
 * @param {OccurrenceData} occurrence
 * @param {Record<string, any>} settings
 * @param {number} lambda
 */
export const attentionWeight = (occurrence, settings, lambda) => occurrence.lambda * lambda / settings.lambda_;

/**
 * The score of an occurrence under another lambda: FS = p / (1 + log(1 + lambda AS)) / (1 + rho log m).
 * @param {OccurrenceData} occurrence
 * @param {Record<string, any>} settings
 * @param {number} lambda
 */
export function rescored(occurrence, settings, lambda) {
  const weight = attentionWeight(occurrence, settings, lambda);
  const lift = settings.lambda_outside ? weight * Math.log1p(occurrence.AS) : Math.log1p(weight * occurrence.AS);
  return occurrence.p / (1 + lift) / (1 + settings.recurrence * Math.log(occurrence.m));
}

/**
 * @param {MethodData} method
 * @param {number | null} lambda
 * @returns {lambda is number}
 */
const moves = (method, lambda) => lambda != null && lambda !== method.settings.lambda_ && rescorable(method);

/**
 * The phrases under a lambda, best first.
 * @param {MethodData} method
 * @param {number | null} lambda
 * @returns {RankedPhrase[]}
 */
export function ranked(method, lambda) {
  const moved = moves(method, lambda);
  const phrases = method.keyphrases.map((keyphrase, index) => {
    const occurrences = keyphrase.occurrences.map((data) => {
      const score = moved ? rescored(data, method.settings, lambda) : data.score;
      return {data, score, start: data.start, end: data.end, key: moved ? rounded(score) : 0};
    });
    return {index, occurrences: moved ? occurrences.sort(compare) : occurrences};
  });
  return moved ? phrases.sort((a, b) => compare(a.occurrences[0], b.occurrences[0])) : phrases;
}

/**
 * The forms of a phrase, that of its best occurrence first.
 * @param {string} text
 * @param {(index: number) => number} offset
 * @param {{start: number, end: number}[]} occurrences
 */
export function forms(text, offset, occurrences) {
  return [...new Set(occurrences.map(({start, end}) => squeeze(text.slice(offset(start), offset(end)))))];
}

/**
 * What the service would answer under this lambda and for so many phrases; null leaves either as it is.
 * @param {ExplanationData} data
 * @param {{lambda?: number | null, topN?: number | null}} options
 * @returns {ExplanationData}
 */
export function reranked(data, {lambda = null, topN = null} = {}) {
  const offset = utf16Offsets(data.text);
  const methods = data.methods.map((method) => {
    if (!moves(method, lambda)) return {...method, keyphrases: method.keyphrases.slice(0, topN ?? undefined)};
    const keyphrases = ranked(method, lambda).slice(0, topN ?? undefined).map(({occurrences}, index) => {
      const [text, ...variants] = forms(data.text, offset, occurrences);
      const rewritten = occurrences.map(({data: occurrence, score}) => (
        {...occurrence, score, lambda: attentionWeight(occurrence, method.settings, lambda)}));
      return {rank: index + 1, text, score: occurrences[0].score, variants, occurrences: rewritten};
    });
    return {...method, keyphrases, settings: {...method.settings, lambda_: lambda}};
  });
  return {...data, methods};
}
