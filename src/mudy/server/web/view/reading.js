// @ts-check
/** @import {MethodData, MethodInfo, Occurrence, OccurrenceData, PartInfo, Phrase} from "./types.js" */

import {attentionWeight, colourStep, countBelow, forms, heat, ranked, rescorable} from "./rescore.js";

/** What one method found: phrases and their occurrences, ranked under the lambda in force. */
export class Reading {
  /**
   * @param {MethodData} method
   * @param {MethodInfo | undefined} info
   * @param {string} text
   * @param {(index: number) => number} offset  from code points to UTF-16 units
   */
  constructor(method, info, text, offset) {
    /** Tags of similar texts, which do not occur in this one. */
    this.suggested = method.keyphrases.filter(({occurrences}) => !occurrences.length);
    this.method = method = {...method, keyphrases: method.keyphrases.filter(({occurrences}) => occurrences.length)};
    this.text = text;
    this.offset = offset;
    this.title = info?.title ?? method.method;
    this.partInfo = new Map((info?.parts ?? []).map((part) => [part.name, part]));
    this.rescorable = rescorable(method);
    /** @type {number | null} */
    this.lambda = null;
    /** @type {Phrase[]} */
    this.order = [];
    /** @type {Map<string, Float64Array>} */
    this.sortedParts = new Map();
    /** @type {Map<OccurrenceData, Occurrence>} */
    this.byData = new Map();
    /** @type {Map<string, Occurrence>} */
    this.bySpan = new Map();
    this.phrases = method.keyphrases.map((keyphrase) => this.phraseOf(keyphrase.rank, keyphrase.occurrences));
    this.occurrences = [...this.byData.values()].sort(inTextOrder);
    this.rank(null);
  }

  /**
   * @param {number} rank
   * @param {OccurrenceData[]} occurrences
   * @returns {Phrase}
   */
  phraseOf(rank, occurrences) {
    const phrase = /** @type {Phrase} */ (/** @type {unknown} */ ({reading: this, originalRank: rank, rank}));
    phrase.occurrences = occurrences.map((data) => {
      const occurrence = {phrase, data, from: this.offset(data.start), to: this.offset(data.end), number: 0,
        score: data.score, step: 0, segments: []};
      this.byData.set(data, occurrence);
      this.bySpan.set(`${data.start}:${data.end}`, occurrence);
      return occurrence;
    }).sort(inTextOrder);
    phrase.occurrences.forEach((occurrence, index) => { occurrence.number = index + 1; });
    return phrase;
  }

  /** @param {number | null} lambda */
  rank(lambda) {
    this.lambda = this.rescorable ? lambda : null;
    this.order = ranked(this.method, this.lambda).map(({index, occurrences}, position) => {
      const [text, ...variants] = forms(this.text, this.offset, occurrences);
      for (const {data, score} of occurrences) this.occurrenceOf(data).score = score;
      const best = this.occurrenceOf(occurrences[0].data);
      const score = occurrences.reduce((most, occurrence) => Math.max(most, occurrence.score), -Infinity);
      const rank = this.lambda == null ? this.phrases[index].originalRank : position + 1;
      return Object.assign(this.phrases[index], {rank, text, variants, best, score});
    });
    heat(this.occurrences.map((occurrence) => occurrence.score)).forEach((share, index) => {
      this.occurrences[index].step = colourStep(share);
    });
  }

  /** @param {OccurrenceData} data */
  occurrenceOf(data) {
    return /** @type {Occurrence} */ (this.byData.get(data));
  }

  /**
   * The parts of an occurrence's score, as they are in force.
   * @param {Occurrence} occurrence
   * @returns {OccurrenceData}
   */
  facts({data, score}) {
    /** @type {OccurrenceData} */
    const facts = {...data, score};
    if (this.lambda != null) facts.lambda = attentionWeight(data, this.method.settings, this.lambda);
    return facts;
  }

  /**
   * @param {string} name
   * @returns {PartInfo}
   */
  part(name) {
    return this.partInfo.get(name) ?? {name, symbol: name, words: "", kind: "value"};
  }

  /**
   * The share of occurrences with a lower value of a part, or null if the value is the same for all.
   * @param {string} name
   * @param {number} value
   */
  share(name, value) {
    let sorted = this.sortedParts.get(name);
    if (!sorted) {
      sorted = Float64Array.from(this.occurrences, ({data}) => data[name] ?? NaN).sort();
      this.sortedParts.set(name, sorted);
    }
    return sorted[0] === sorted[sorted.length - 1] ? null : countBelow(sorted, value) / Math.max(1, sorted.length - 1);
  }

  /**
   * The phrase of this method that corresponds to one of another: at the same position, else with the same form.
   * @param {Phrase} phrase
   * @returns {Phrase | null}
   */
  counterpart(phrase) {
    if (phrase.reading === this) return phrase;
    for (const {data} of phrase.occurrences) {
      const occurrence = this.bySpan.get(`${data.start}:${data.end}`);
      if (occurrence) return occurrence.phrase;
    }
    const form = phrase.text.toLowerCase();
    return this.phrases.find(({text, variants}) => [text, ...variants].some((variant) => variant.toLowerCase() === form)) ?? null;
  }
}

/** @param {Occurrence} a @param {Occurrence} b */
const inTextOrder = (a, b) => a.from - b.from || a.to - b.to;
