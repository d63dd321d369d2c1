// @ts-check
/** @import {Occurrence, Phrase, Segment, SegmentElement, View} from "./types.js" */
/** @import {RowButton} from "./ranking.js" */

import {narrowScreen, reducedMotion} from "./elements.js";
import {figure} from "./words.js";

const SHOW_AFTER = 90; // milliseconds that the pointer rests on words before their card appears
const SHOW_NEXT_AFTER = 20; // while another card is shown
const HIDE_AFTER = 160;

/** Pointer and keyboard handling: shows and pins cards, and moves between occurrences. */
export class Navigation {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.showTimer = 0;
    this.hideTimer = 0;
    /** @type {Set<Segment>} */
    this.highlighted = new Set();
    /** @type {Segment | null} whose description is the card */
    this.described = null;
    /** @type {Occurrence | null} that is about to get the focus */
    this.target = null;
    /** @type {HTMLElement | null} the ranking row that the focus came from */
    this.origin = null;
  }

  /** @param {AbortSignal} signal */
  listen(signal) {
    const {root} = this.view, options = {signal};
    root.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") this.onPointer(event); }, options);
    root.addEventListener("pointerout", () => this.hideSoon(), options);
    root.addEventListener("focusin", (event) => this.onFocus(event), options);
    root.addEventListener("focusout", () => this.hideSoon(), options);
    root.addEventListener("click", (event) => this.onClick(event), options);
    root.addEventListener("keydown", (event) => this.onKey(event), options);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.view.card.occurrence) this.close();
    }, options);
    document.addEventListener("pointerdown", ({target}) => {
      const inside = target instanceof Element && target.closest(".mv-card, .mv-occurrence, .mv-row");
      if (!inside && this.view.card.pinned) this.close(false);
    }, options);
    addEventListener("resize", () => { if (this.view.card.occurrence) this.view.card.place(); }, options);
  }

  /** A new card is there, and new text. */
  attach() {
    const {element} = this.view.card;
    this.highlighted = new Set();
    this.described = null;
    element.addEventListener("pointerenter", () => clearTimeout(this.hideTimer));
    element.addEventListener("pointerleave", () => this.hideSoon());
    element.addEventListener("keydown", (event) => this.onCardKey(event));
  }

  // Cards

  /** @param {Event} event */
  onPointer(event) {
    const segment = segmentAt(event), row = rowAt(event), {card} = this.view;
    clearTimeout(this.hideTimer);
    clearTimeout(this.showTimer);
    if (card.pinned) return;
    const delay = card.occurrence ? SHOW_NEXT_AFTER : SHOW_AFTER;
    if (segment) this.showTimer = setTimeout(() => this.show(segment.owner, segment), delay);
    else if (row) this.highlight(row.phrase.occurrences[0]);
    else this.hideSoon();
  }

  hideSoon() {
    clearTimeout(this.showTimer);
    clearTimeout(this.hideTimer);
    this.hideTimer = setTimeout(() => {
      const active = /** @type {SegmentElement | null} */ (document.activeElement);
      const focused = active?.segment?.panel.view === this.view && active.matches(":focus-visible");
      if (!this.view.card.pinned && !focused) this.hide();
    }, HIDE_AFTER);
  }

  /** @param {FocusEvent} event */
  onFocus(event) {
    const element = /** @type {SegmentElement} */ (event.target), {segment} = element;
    clearTimeout(this.hideTimer);
    if (!segment) return;
    segment.panel.setTabStop(segment);
    const occurrence = this.target?.segments.includes(segment) ? this.target : segment.owner;
    label(occurrence, segment);
    if (element.matches(":focus-visible")) this.show(occurrence, segment);
  }

  /** @param {Occurrence} occurrence @param {Segment} segment @param {boolean} pinned */
  show(occurrence, segment, pinned = false) {
    this.describe(segment);
    this.view.card.show(occurrence, segment, pinned);
    this.highlight(occurrence);
  }

  /** @param {Segment | null} segment */
  describe(segment) {
    this.described?.element?.removeAttribute("aria-describedby");
    this.described = segment;
    segment?.element?.setAttribute("aria-describedby", this.view.card.element.id);
  }

  hide() {
    this.describe(null);
    this.view.card.hide();
    this.highlight(null);
  }

  /**
   * Mark all occurrences of a phrase, in all panels and rankings.
   * @param {Occurrence | null} occurrence
   */
  highlight(occurrence) {
    for (const segment of this.highlighted) {
      segment.element?.classList.remove("is-highlighted", "is-active");
      segment.className = null;
    }
    const counterparts = occurrence ? this.view.readings.map((reading) => reading.counterpart(occurrence.phrase)) : [];
    const phrases = new Set(counterparts.filter((phrase) => phrase != null));
    this.highlighted = new Set([...phrases].flatMap((phrase) => phrase.occurrences).flatMap((other) => other.segments));
    for (const {element} of this.highlighted) element?.classList.add("is-highlighted");
    if (occurrence && this.view.card.occurrence === occurrence) {
      for (const {element} of occurrence.segments) element?.classList.add("is-active");
    }
    this.view.ranking.highlight(phrases);
  }

  /** @param {Event} event */
  onClick(event) {
    const segment = segmentAt(event), row = rowAt(event);
    if (segment) this.togglePin(segment.owner, segment);
    else if (row) this.followRow(row);
  }

  /** @param {Occurrence} occurrence @param {Segment} segment */
  togglePin(occurrence, segment) {
    clearTimeout(this.showTimer);
    if (this.view.card.pinned && this.view.card.occurrence === occurrence) this.close();
    else this.show(occurrence, segment, true);
  }

  close(giveFocusBack = true) {
    const {card} = this.view, {segment, pinned} = card;
    const inside = card.element.contains(document.activeElement);
    clearTimeout(this.showTimer);
    this.hide();
    if (!pinned || !giveFocusBack) return;
    const focused = inside || document.activeElement === segment?.element;
    if (this.origin?.isConnected && focused) this.origin.focus({preventScroll: true});
    else if (inside) segment?.element?.focus({preventScroll: true});
    this.origin = null;
    this.hide();
  }

  // Moving between occurrences

  /**
   * Go from the ranking to the first occurrence of a phrase; on repeated clicks, to the next.
   * @param {RowButton} row
   */
  followRow(row) {
    const {occurrence, pinned} = this.view.card, {phrase} = row;
    const next = pinned && occurrence?.phrase === phrase ? occurrence.number % phrase.occurrences.length : 0;
    this.origin = row;
    this.goTo(phrase.occurrences[next]);
  }

  /**
   * Scroll to an occurrence, put the focus there and pin its card. The panels share one layout, so all follow.
   * @param {Occurrence} occurrence
   */
  goTo(occurrence) {
    const {view} = this, panel = view.panels[view.readings.indexOf(occurrence.phrase.reading)];
    if (view.shownPanel !== panel.index && narrowScreen()) view.showPanel(panel.index);
    const segment = panel.segmentOf(occurrence);
    for (const other of view.panels) other.fillAt(occurrence.from);
    const element = panel.elementOf(segment);
    panel.setTabStop(segment);
    this.scrollTo(segment);
    view.card.hide();
    this.target = occurrence;
    element.focus({preventScroll: true});
    label(occurrence, segment);
    this.show(occurrence, segment, true);
    this.target = null;
    if (!reducedMotion()) element.animate([{opacity: 0.2}, {}], {duration: 400, easing: "ease-out"});
  }

  /**
   * Bring words to where they and their card can be seen; once more when blocks near them have their true height.
   * @param {Segment} segment
   * @param {number} space  pixels for the card
   * @param {number} repeats
   */
  scrollTo(segment, space = 400, repeats = 3) {
    const element = segment.panel.elementOf(segment);
    const box = element.getBoundingClientRect(), top = this.view.topInset();
    if (box.top < top + 20 || box.bottom > innerHeight - Math.min(space, innerHeight * 0.6)) {
      const wanted = Math.max(top + 40, innerHeight * (narrowScreen() ? 0.15 : 0.3));
      scrollBy({top: box.top - wanted, behavior: "instant"});
    }
    if (!repeats) return;
    requestAnimationFrame(() => {
      if (document.activeElement !== element) return;
      this.scrollTo(segment, space, repeats - 1);
      if (this.view.card.segment === segment) this.view.card.place();
    });
  }

  /**
   * The next or previous occurrence of the phrase shown.
   * @param {number} by
   */
  step(by) {
    const {occurrence} = this.view.card;
    if (!occurrence) return;
    const {occurrences} = occurrence.phrase;
    this.goTo(occurrences[(occurrence.number - 1 + by + occurrences.length) % occurrences.length]);
  }

  /**
   * The occurrence nearest to the click on the map.
   * @param {Phrase} phrase
   * @param {MouseEvent} event
   */
  goToNearest(phrase, event) {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const at = this.view.text.length * (event.clientX - box.left) / box.width;
    this.goTo(phrase.occurrences.reduce((a, b) => (Math.abs(b.from - at) < Math.abs(a.from - at) ? b : a)));
  }

  // Keys

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {segment} = /** @type {SegmentElement} */ (event.target), row = rowAt(event);
    const used = segment ? this.onTextKey(event, segment) : row ? this.onListKey(event, row) : false;
    if (used) event.preventDefault();
  }

  /** @param {KeyboardEvent} event @param {Segment} segment */
  onTextKey(event, segment) {
    const {panel} = segment, {card} = this.view;
    const occurrence = card.occurrence ?? segment.owner;
    switch (event.key) {
      case "ArrowRight": case "ArrowDown": return this.focus(panel.neighbour(segment, 1));
      case "ArrowLeft": case "ArrowUp": return this.focus(panel.neighbour(segment, -1));
      case "Home": return this.focus(panel.segments[0]);
      case "End": return this.focus(panel.lastSegment());
      case "Enter": case " ": this.togglePin(occurrence, segment); return true;
      case "n": case "N": case "p": case "P":
        if (!card.occurrence) this.show(occurrence, segment);
        this.step(event.key.toLowerCase() === "n" ? 1 : -1);
        return true;
      case "Tab": {
        const inner = card.pinned && !event.shiftKey ? card.element.querySelector("button") : null;
        inner?.focus();
        return Boolean(inner);
      }
      default: return false;
    }
  }

  /** @param {Segment | null} segment */
  focus(segment) {
    if (!segment) return true;
    this.view.card.pinned = false;
    this.scrollTo(segment, 60);
    segment.panel.setTabStop(segment);
    segment.element?.focus({preventScroll: true});
    return true;
  }

  /** @param {KeyboardEvent} event @param {RowButton} row */
  onListKey(event, row) {
    /** @type {RowButton[]} */
    const rows = [...(row.closest("ol")?.querySelectorAll(".mv-row") ?? [])].map((each) => /** @type {any} */ (each));
    const at = rows.indexOf(row);
    const next = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1}[event.key];
    if (next == null) return false;
    if (rows[next]) {
      row.tabIndex = -1;
      rows[next].tabIndex = 0;
      rows[next].focus();
      this.highlight(rows[next].phrase.occurrences[0]);
    }
    return true;
  }

  /**
   * Tab leaves the card where it was entered.
   * @param {KeyboardEvent} event
   */
  onCardKey(event) {
    if (event.key !== "Tab") return;
    const {card} = this.view, buttons = [...card.element.querySelectorAll("button")];
    const edge = event.shiftKey ? buttons[0] : buttons[buttons.length - 1];
    if (document.activeElement !== edge) return;
    event.preventDefault();
    card.segment?.element?.focus({preventScroll: true});
    if (!event.shiftKey) card.pinned = false;
  }
}

/**
 * Set the screen reader label of an occurrence when it gets the focus.
 * @param {Occurrence} occurrence
 * @param {Segment} segment
 */
function label({phrase, score, number}, segment) {
  segment.element?.setAttribute("aria-label", `${phrase.text}, rank ${phrase.rank}, score ${figure(score)}, `
    + `occurrence ${number} of ${phrase.occurrences.length}`);
}

/** @param {Event} event */
function segmentAt({target}) {
  const element = target instanceof Element ? target.closest(".mv-occurrence") : null;
  return /** @type {SegmentElement | null} */ (element)?.segment;
}

/** @param {Event} event */
function rowAt({target}) {
  return /** @type {RowButton | null} */ (target instanceof Element ? target.closest(".mv-row") : null);
}
