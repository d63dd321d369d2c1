// @ts-check
/** Types of the view. The first group is returned by the service, the second is built by the view. */

/**
 * @typedef {{start: number, end: number, score: number, [part: string]: number}} OccurrenceData  offsets in code points
 * @typedef {{rank: number, text: string, score: number, variants: string[], source?: string, occurrences: OccurrenceData[]}} KeyphraseData
 * @typedef {{heading: string | null, start: number, end: number, keyphrases: KeyphraseData[]}} SectionData
 * @typedef {{model: string, share: number, spans: {start: number, end: number}[]}} ModelCoverage
 * @typedef {{words: number, words_read: number, share: number, sections: number, models: ModelCoverage[]}} Coverage
 *
 * @typedef {object} MethodData  the results of one method
 * @property {string} method
 * @property {string | null} [model]
 * @property {string | null} [language]  ISO 639 code
 * @property {string | null} [read_by]  the tagger or segmenter used
 * @property {string[]} [warnings]
 * @property {Coverage} [coverage]
 * @property {KeyphraseData[]} keyphrases
 * @property {SectionData[]} [sections]
 * @property {Record<string, any>} settings
 * @property {string[]} free  settings whose change can be computed from the parts of a score
 * @property {number | null} [seconds]
 *
 * @typedef {object} PartInfo  one part of a score
 * @property {string} name  its key in an occurrence
 * @property {string} symbol
 * @property {string} words
 * @property {"value" | "contribution"} kind  a score is the sum of its contributions
 *
 * @typedef {{title: string, parts: PartInfo[]}} MethodInfo
 * @typedef {{text: string, places: {start: number, end: number}[]}} GoldData
 *
 * @typedef {object} ExplanationData
 * @property {string} text
 * @property {string | null} [source]
 * @property {GoldData[]} [gold]
 * @property {MethodData[]} methods
 * @property {Record<string, MethodInfo>} [descriptions]  by the name of the method
 * @property {number} [top_n]
 */

/**
 * @typedef {import("./reading.js").Reading} Reading
 * @typedef {import("./panel.js").Panel} Panel
 * @typedef {import("./view.js").View} View
 * @typedef {{from: number, to: number}} Range  offsets in UTF-16 units
 *
 * @typedef {object} Phrase
 * @property {Reading} reading
 * @property {number} originalRank  as the method was run
 * @property {number} rank  under the lambda in force
 * @property {string} text
 * @property {string[]} variants
 * @property {Occurrence[]} occurrences  in the order of the text
 * @property {Occurrence} best  the first in its most frequent form
 * @property {number} score  the highest of its occurrences
 *
 * @typedef {object} Occurrence
 * @property {Phrase} phrase
 * @property {OccurrenceData} data
 * @property {number} from
 * @property {number} to
 * @property {number} number  from 1, in the order of the text
 * @property {number} score
 * @property {number} step  of the colour scale
 * @property {Segment[]} segments
 *
 * @typedef {object} Segment  a part of the text covered by the same occurrences
 * @property {number} from
 * @property {number} to
 * @property {Occurrence[]} spans
 * @property {boolean} gold
 * @property {Panel} panel
 * @property {Block} block
 * @property {Occurrence} owner  the best occurrence in this segment
 * @property {boolean} first  whether it is the owner's first segment: what the keyboard reaches
 * @property {number} index
 * @property {SegmentElement} [element]  once its block is filled
 * @property {string | null} [className]
 * @property {boolean} [reachable]
 *
 * @typedef {HTMLElement & {segment?: Segment}} SegmentElement
 * @typedef {{from: number, to: number, element: HTMLElement, segments: Segment[], filled: boolean}} Block
 * @typedef {{topN: number, lambda: number | null}} ViewState
 *
 * @typedef {object} ViewOptions
 * @property {number} [topN]
 * @property {number | null} [lambda]
 * @property {boolean} [controls]  whether the view shows its own sliders; true by default
 * @property {(state: ViewState) => void} [onChange]
 * @property {() => number} [topInset]  pixels at the top of the window that something else covers
 */
export {};
