// @ts-check
/** @import {Occurrence, Phrase, Segment, View} from "./types.js" */

import {create, createSvg, narrowScreen} from "./elements.js";
import {scoreParts} from "./parts.js";
import {strip} from "./ranking.js";
import {figure, ordinal, rankChange} from "./words.js";

const GAP = 8; // pixels between the card and the words, or the edge of the window
const MOST_VARIANTS = 4;
const MOST_NEIGHBOURS = 6;

/** Details of one occurrence: a tooltip on hover or focus, a small dialog when pinned. */
export class Card {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {Occurrence | null} */
    this.occurrence = null;
    /** @type {Segment | null} */
    this.segment = null;
    this.pinned = false;
    this.element = create("div", {class: "mv-card", id: `mv-${view.id}-card`, hidden: true});
    view.root.after(this.element);
  }

  /** @param {Occurrence} occurrence @param {Segment} segment @param {boolean} pinned */
  show(occurrence, segment, pinned) {
    const {element} = this;
    Object.assign(this, {occurrence, segment, pinned});
    element.replaceChildren(...this.content(occurrence, pinned));
    element.setAttribute("role", pinned ? "dialog" : "tooltip");
    if (pinned) element.setAttribute("aria-label", occurrence.phrase.text);
    else element.removeAttribute("aria-label"); // a tooltip is labelled by its content
    element.classList.toggle("is-pinned", pinned);
    element.hidden = false;
    this.place();
  }

  /** Show the same occurrence again, after its score has changed. */
  refresh() {
    if (this.occurrence && this.segment) this.show(this.occurrence, this.segment, this.pinned);
  }

  hide() {
    this.element.hidden = true;
    this.occurrence = null;
    this.pinned = false;
  }

  /** Beside the words, never over them and never off the screen; a sheet at the bottom of narrow screens. */
  place() {
    const {style} = this.element;
    style.left = style.top = "";
    const boxes = [...(this.segment?.element?.getClientRects() ?? [])], first = boxes[0], last = boxes[boxes.length - 1];
    if (narrowScreen() || !first) return;
    const {width, height} = this.element.getBoundingClientRect();
    const ceiling = this.view.topInset() + GAP, floor = innerHeight - height - GAP;
    const right = Math.min(document.documentElement.clientWidth - GAP, this.view.root.getBoundingClientRect().right);
    const edge = right - width;
    let left = clamp(first.left - 16, GAP, edge), top = last.bottom + GAP;
    if (top > floor && first.top - GAP - height >= ceiling) top = first.top - GAP - height;
    else if (top > floor) {
      const after = Math.max(first.right, last.right) + GAP;
      left = after <= edge ? after : Math.max(GAP, Math.min(first.left, last.left) - width - GAP);
      top = clamp(first.top - height / 2, Math.min(ceiling, floor), floor);
    }
    style.left = `${left + scrollX}px`;
    style.top = `${top + scrollY}px`;
  }

  /**
   * @param {Occurrence} occurrence
   * @param {boolean} pinned
   * @returns {HTMLElement[]}
   */
  content(occurrence, pinned) {
    const {phrase, score} = occurrence, {reading} = phrase;
    const head = create("div", {class: "mv-card-head"}, create("bdi", {class: "mv-card-phrase"}, phrase.text),
      pinned ? button("Close", "×", () => this.view.navigation.close()) : null);
    const rank = create("p", {class: "mv-card-rank"}, create("b", {}, ordinal(phrase.rank)),
      ` of ${reading.phrases.length.toLocaleString("en")} by ${reading.title}`,
      create("span", {}, `score ${figure(score)}`));
    return [head, rank, note(occurrence), ...scoreParts(reading, reading.facts(occurrence)), this.changes(phrase),
      this.neighbours(occurrence, pinned), this.places(occurrence, pinned)].filter((element) => element != null);
  }

  /**
   * The rank by other methods, and under the original lambda.
   * @param {Phrase} phrase
   */
  changes(phrase) {
    const {reading, rank, originalRank} = phrase;
    const lines = this.view.readings.filter((other) => other !== reading)
      .map((other) => rankChange(rank, other.counterpart(phrase)?.rank, other.title));
    if (originalRank !== rank) {
      const before = figure(reading.method.settings.lambda_), now = figure(reading.lambda ?? NaN);
      lines.push(`${ordinal(originalRank)} with λ ${before}, ${ordinal(rank)} with ${now}`);
    }
    return lines.length ? create("div", {}, ...lines.map((line) => create("p", {class: "mv-change"}, line))) : null;
  }

  /**
   * Other phrases that occur at the same position.
   * @param {Occurrence} occurrence
   * @param {boolean} pinned
   */
  neighbours(occurrence, pinned) {
    const spans = occurrence.segments.flatMap((segment) => segment.spans);
    const others = [...new Set(spans)].filter((other) => other !== occurrence);
    if (!others.length) return null;
    const line = create("p", {class: "mv-also"}, "Also here: ");
    others.slice(0, MOST_NEIGHBOURS).forEach((other, index) => {
      const words = `${other.phrase.text} (${ordinal(other.phrase.rank)})`;
      if (index) line.append(", ");
      const show = () => this.view.navigation.goTo(other);
      line.append(pinned ? button(`Show ${words}`, words, show, "mv-link") : create("bdi", {}, words));
    });
    return line;
  }

  /**
   * The number of this occurrence, a map of all of them, and buttons to the next and the previous.
   * @param {Occurrence} occurrence
   * @param {boolean} pinned
   */
  places({phrase, number, from, data}, pinned) {
    const {view} = this, many = phrase.occurrences.length > 1;
    const page = data.page == null ? "" : `, page ${data.page}`;
    const words = (many ? `occurrence ${number} of ${phrase.occurrences.length}` : "only occurrence") + page;
    const map = strip(view.readings.map((reading) => reading.counterpart(phrase)), view.text.length);
    const x = Math.round(1000 * from / view.text.length);
    map.append(createSvg("path", {class: "mv-needle", d: `M${x} -3V${map.viewBox.baseVal.height + 3}`}));
    const row = create("div", {class: "mv-places"}, create("span", {}, words), map);
    if (pinned && many) {
      row.append(button("Previous occurrence", "‹", () => view.navigation.step(-1)),
        button("Next occurrence", "›", () => view.navigation.step(1)));
      map.addEventListener("click", (event) => view.navigation.goToNearest(phrase, event));
    }
    return row;
  }
}

/** @param {number} value @param {number} low @param {number} high */
const clamp = (value, low, high) => Math.max(low, Math.min(value, high));

/**
 * The score of the best occurrence if this one scores lower, and other forms.
 * @param {Occurrence} occurrence
 */
function note(occurrence) {
  const {phrase} = occurrence, elsewhere = occurrence.score < phrase.score;
  const line = create("p", {class: "mv-card-note"}, elsewhere ? `best occurrence: ${figure(phrase.score)}` : null);
  phrase.variants.slice(0, MOST_VARIANTS).forEach((form, index) => {
    line.append(index ? ", " : elsewhere ? "; also " : "also ", create("bdi", {}, `“${form}”`));
  });
  return line.childNodes.length ? line : null;
}

/** @param {string} label @param {string} words @param {() => void} act @param {string} className */
function button(label, words, act, className = "mv-button") {
  const attributes = {type: "button", class: className, "aria-label": label, title: label};
  const element = create("button", attributes, create("bdi", {}, words));
  element.addEventListener("click", act);
  return element;
}
