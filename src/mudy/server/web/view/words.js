// @ts-check
/** @import {MethodData, OccurrenceData} from "./types.js" */
/** Numbers and sentences for display. */

/**
 * Four significant figures and a true minus sign.
 * @param {number | string} value
 */
export const figure = (value) => String(Number(Number(value).toPrecision(4))).replace("-", "−");

/** @param {number} n */
export function ordinal(n) {
  const teen = n % 100 > 10 && n % 100 < 14;
  return n.toLocaleString("en") + (teen ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th");
}

/** @param {number} n @param {string} one @param {string} many */
export const plural = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/**
 * The English name of a language by its ISO 639 code.
 * @param {string} code
 */
export function languageName(code) {
  try {
    return new Intl.DisplayNames("en", {type: "language"}).of(code) ?? code;
  } catch {
    return code;
  }
}

/**
 * The formula of a score with its values; null for methods with an unknown formula.
 * @param {MethodData} method
 * @param {OccurrenceData} facts
 */
export function formula({settings = {}}, facts) {
  const {p, r, AS, lambda, m, H, local, global, position, score} = facts;
  if (AS != null && p != null) {
    const lift = settings.lambda_outside
      ? `${figure(lambda)} × log(1 + ${figure(AS)})` : `log(1 + ${figure(lambda)} × ${figure(AS)})`;
    const recurrence = m > 1 ? ` ÷ (1 + ${figure(settings.recurrence)} × log ${m})` : "";
    return `${figure(p)} ÷ (1 + ${lift})${recurrence} = ${figure(score)}`;
  }
  if (p != null && r != null) return `${figure(p)} × ${figure(r)} = ${figure(score)}`;
  if (H != null) return `−log ${figure(H)} = ${figure(score)}`;
  if (local != null) return [local, global, position].map(figure).join(" × ") + ` = ${figure(score)}`;
  return null;
}

/**
 * The change of rank compared with another method: "2nd here, 7th with PromptRank: 5 higher".
 * @param {number} rank
 * @param {number | undefined} otherRank
 * @param {string} otherTitle
 */
export function rankChange(rank, otherRank, otherTitle) {
  if (!otherRank) return `${ordinal(rank)} here, not found by ${otherTitle}`;
  const by = otherRank - rank;
  const moved = by > 0 ? `${by} higher` : by < 0 ? `${-by} lower` : "no change";
  return `${ordinal(rank)} here, ${ordinal(otherRank)} with ${otherTitle}: ${moved}`;
}

/**
 * Notes on the text: its language and warnings, with the method if not all methods share them.
 * @param {{title: string, method: MethodData}[]} readings
 * @returns {string[]}
 */
export function textNotes(readings) {
  const languages = new Map(readings.flatMap(({method}) => (
    method.language ? [[method.language, method.read_by]] : [])));
  /** @type {Map<string, string[]>} */
  const titles = new Map();
  for (const {title, method} of readings)
    for (const warning of method.warnings ?? []) titles.set(warning, [...(titles.get(warning) ?? []), title]);
  const warnings = [...titles].map(([warning, by]) => (
    by.length === readings.length ? warning : `${by.join(", ")}: ${warning}`));
  const read = [...languages].map(([code, by]) => `Language: ${languageName(code)}${by ? `, read by ${by}` : ""}`);
  return [...read, ...warnings];
}
