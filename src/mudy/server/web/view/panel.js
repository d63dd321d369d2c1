// @ts-check
/** @import {Block, ModelCoverage, Occurrence, Reading, Segment, View} from "./types.js" */

import {create} from "./elements.js";
import {blocks, segments} from "./segments.js";
import {plural} from "./words.js";

/** The coloured text of one method. Blocks are filled one after another, or when they are needed. */
export class Panel {
  /** @param {View} view @param {Reading} reading @param {number} index */
  constructor(view, reading, index) {
    this.view = view;
    this.reading = reading;
    this.index = index;
    /** @type {Segment | null} the one segment that the Tab key reaches */
    this.tabStop = null;
    const id = `mv-${view.id}-${index}`;
    this.body = create("div", {class: "mv-text", role: "group", dir: "auto", "aria-labelledby": id,
      "aria-description": "Use the arrow keys to move between phrases, N and P to move between the occurrences of one."});
    this.element = create("section", {class: "mv-panel", "aria-labelledby": id},
      create("header", {class: "mv-head"}, create("h3", {id}, reading.title), create("p", {}, about(reading))), this.body);
    const all = /** @type {Segment[]} */ (segments(reading.occurrences, view.gold));
    this.blocks = this.cut(all);
    this.segments = all.filter((segment) => segment.spans.length);
    this.segments.forEach((segment, number) => { segment.index = number; });
    this.body.append(...this.blocks.map((block) => block.element));
    this.assignOwners();
  }

  /**
   * @param {Segment[]} all
   * @returns {Block[]}
   */
  cut(all) {
    const {text, occurrences} = this.reading;
    let i = 0;
    return blocks(text, [...occurrences, ...this.view.gold]).map(({from, to}) => {
      /** @type {Block} */
      const block = {from, to, element: create("div", {class: "mv-block"}), segments: [], filled: false};
      while (i < all.length && all[i].from < to) {
        const segment = Object.assign(all[i++], {panel: this, block});
        block.segments.push(segment);
        for (const occurrence of segment.spans) occurrence.segments.push(segment);
      }
      return block;
    });
  }

  /**
   * Whether the phrase of an occurrence is in the ranking.
   * @param {Occurrence} occurrence
   */
  isTop({phrase}) {
    return phrase.rank <= this.view.state.topN;
  }

  /** A segment belongs to the best of its occurrences; those in the ranking come first. */
  assignOwners() {
    /** @param {Occurrence} a @param {Occurrence} b */
    const better = (a, b) => (this.isTop(a) === this.isTop(b) ? outranks(a, b) : this.isTop(a));
    /** @type {Occurrence | null} */
    let before = null;
    for (const segment of this.segments) {
      segment.owner = segment.spans.reduce((a, b) => (better(b, a) ? b : a));
      segment.first = segment.owner !== before;
      before = segment.owner;
    }
  }

  /** Estimate the heights of blocks that are not rendered yet. */
  estimateHeights() {
    const width = this.body.clientWidth || 600, size = parseFloat(getComputedStyle(this.body).fontSize) || 18;
    const perLine = Math.max(20, width / (size * 0.47));
    for (const block of this.blocks) {
      const lines = this.reading.text.slice(block.from, block.to).replace(/\n$/, "").split("\n");
      const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / perLine)), 0);
      block.element.style.containIntrinsicBlockSize = `auto ${Math.round(rows * size * 1.65)}px`;
    }
  }

  /** @param {Block} block */
  fill(block) {
    if (block.filled) return;
    block.filled = true;
    const {text} = this.reading, nodes = [];
    let at = block.from;
    for (const segment of block.segments) {
      if (segment.from > at) nodes.push(text.slice(at, segment.from));
      const words = text.slice(segment.from, segment.to);
      const inner = segment.gold ? create("em", {class: "gold"}, words) : words;
      if (segment.spans.length) {
        segment.element = create("span", {}, inner);
        segment.element.segment = segment;
        this.paint(segment);
        nodes.push(segment.element);
      } else nodes.push(inner);
      at = segment.to;
    }
    if (at < block.to) nodes.push(text.slice(at, block.to));
    block.element.append(...nodes);
  }

  /**
   * Fill the block that holds an index of the text.
   * @param {number} index
   */
  fillAt(index) {
    for (const block of this.blocks) if (block.from <= index && index < block.to) this.fill(block);
  }

  /**
   * A stretch of the text, whose blocks are filled if need be.
   * @param {number} from
   * @param {number} to
   */
  rangeOf(from, to) {
    const range = new Range();
    for (const block of this.blocks) {
      if (block.to <= from || block.from >= to) continue;
      this.fill(block);
      const walker = document.createTreeWalker(block.element, NodeFilter.SHOW_TEXT);
      let at = block.from;
      for (let node = walker.nextNode(); node instanceof Text && at < to; node = walker.nextNode()) {
        if (at <= from && from < at + node.length) range.setStart(node, from - at);
        if (at < to && to <= at + node.length) range.setEnd(node, to - at);
        at += node.length;
      }
    }
    return range;
  }

  /**
   * The element of a segment, whose block is filled if need be.
   * @param {Segment} segment
   */
  elementOf(segment) {
    this.fill(segment.block);
    return /** @type {HTMLElement} */ (segment.element);
  }

  /**
   * Colour, underline and role of a segment, touched only where they changed. Other candidates have no colour.
   * @param {Segment} segment
   */
  paint(segment) {
    const {element, owner, first} = segment;
    if (!element) return;
    const best = owner.phrase.best === owner ? " is-best" : "";
    const className = this.isTop(owner) ? `mv-occurrence heat-${owner.step} is-top${best}` : "mv-occurrence";
    if (segment.className !== className) {
      segment.className = element.className = className;
      element.removeAttribute("aria-label"); // it holds the old rank
    }
    if (segment.reachable === first) return;
    segment.reachable = first;
    if (first) {
      element.setAttribute("role", "button");
      element.tabIndex = -1;
    } else {
      element.removeAttribute("role");
      element.removeAttribute("tabindex");
    }
  }

  repaint() {
    this.assignOwners();
    for (const segment of this.segments) this.paint(segment);
    if (!this.tabStop?.first || !this.tabStop.element) this.setTabStop(this.segments[0]);
  }

  /** @param {Segment | undefined} segment */
  setTabStop(segment) {
    if (!segment) return;
    if (this.tabStop?.element && this.tabStop !== segment) this.tabStop.element.tabIndex = -1;
    this.tabStop = segment;
    this.elementOf(segment).tabIndex = 0;
  }

  /**
   * The next reachable segment in a direction.
   * @param {Segment} segment
   * @param {number} by
   */
  neighbour(segment, by) {
    let index = segment.index + by;
    while (this.segments[index] && !this.segments[index].first) index += by;
    return this.segments[index] ?? null;
  }

  lastSegment() {
    const last = this.segments[this.segments.length - 1];
    return last.first ? last : this.neighbour(last, -1);
  }

  /**
   * Where an occurrence is reached: the first segment that it owns, else its first.
   * @param {Occurrence} occurrence
   */
  segmentOf(occurrence) {
    return occurrence.segments.find(({owner, first}) => owner === occurrence && first) ?? occurrence.segments[0];
  }
}

/** @param {Occurrence} a @param {Occurrence} b */
const outranks = (a, b) => a.score > b.score || (a.score === b.score && a.to - a.from < b.to - b.from);

/**
 * The model, the number of phrases and occurrences, the coverage and the time.
 * @param {Reading} reading
 */
function about({method: {coverage, model, seconds}, phrases, occurrences}) {
  const counts = `${plural(phrases.length, "phrase")}, ${plural(occurrences.length, "occurrence")}`;
  const read = coverage && coverage.share < 1 && `read ${coverage.words_read} of ${plural(coverage.words, "word")}`;
  const partly = (coverage?.models ?? []).filter(({share}) => share < 1).map(partOf);
  const time = seconds != null && `${seconds < 0.1 ? "under 0.1" : seconds.toFixed(seconds < 10 ? 1 : 0)}\u00a0s`;
  return [model, counts, read, ...partly, time].filter(Boolean).join(" · ");
}

/**
 * The share of the text that a model read, rounded down.
 * @param {ModelCoverage} read
 */
function partOf({model, share, spans}) {
  const beginning = spans.length === 1 && spans[0].start === 0 ? "the first " : "";
  const percent = share < 0.01 ? "less than 1\u00a0%" : `${beginning}${Math.floor(100 * share)}\u00a0%`;
  return `${model.replace("_", " ")} read ${percent}`;
}
