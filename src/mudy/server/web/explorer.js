// @ts-check
/** The explorer of a corpus: its phrases with trends and neighbours, and the texts they occur in. */

import {create, createSvg} from "./view/elements.js";
import {segments, utf16Offsets} from "./view/segments.js";
import {themeButton} from "./view/theme.js";
import {figure, plural} from "./view/words.js";

/** @typedef {{number: number, name: string, lower: string, documents: number, score: number, community: number | null,
 *   z: number | null, q: number | null, counts: number[], neighbours: Neighbour[], texts: number[]}} Phrase */
/** @typedef {{phrase: Phrase, npmi: number, chunks: number}} Neighbour */
/** @typedef {[id: string, day: string | null, text: string, places: number[]]} TextData */

const LISTED = 100, SHOWN_TEXTS = 10, LIKELY = 0.05; // rows and texts shown at once; the q of a trend that is coloured
const source = JSON.parse(document.getElementById("mudy-data")?.textContent ?? "{}");
/** @type {string[]} */ const periods = source.periods;
/** @type {number[]} */ const totals = source.totals;
/** @type {TextData[]} */ const corpusTexts = source.texts;
/** @type {Phrase[]} */
const phrases = source.phrases.map((/** @type {any[]} */ [name, documents, score, community, z, q, counts], /** @type {number} */ number) => ({
  number, name, lower: name.toLowerCase(), documents, score, community, z: z ?? null, q: q ?? null,
  counts: counts ?? [], neighbours: [], texts: [],
}));
for (const [from, to, npmi, chunks] of source.edges) {
  phrases[from].neighbours.push({phrase: phrases[to], npmi, chunks});
  phrases[to].neighbours.push({phrase: phrases[from], npmi, chunks});
}
corpusTexts.forEach(([, , , places], index) => {
  for (const number of new Set(places.filter((_, at) => at % 3 === 0))) phrases[number].texts.push(index);
});

/** @type {Record<string, [string, (a: Phrase, b: Phrase) => number]>} */
const ORDERS = {
  documents: ["Most documents", (a, b) => a.number - b.number],
  ...(periods.length ? {
    rising: ["Rising", (a, b) => (b.z ?? 0) - (a.z ?? 0) || a.number - b.number],
    falling: ["Falling", (a, b) => (a.z ?? 0) - (b.z ?? 0) || a.number - b.number],
  } : {}),
  score: ["Highest mean score", (a, b) => b.score - a.score || a.number - b.number],
  name: ["A to Z", (a, b) => a.name.localeCompare(b.name)],
};

// -- Trends -----------------------------------------------------------------------------------------------------------

/** @param {Phrase} phrase */
const shares = ({counts}) => counts.map((count, index) => (totals[index] ? count / totals[index] : 0));

/** @param {Phrase} phrase */
const direction = ({z, q}) => (z == null || q == null || q >= LIKELY ? "" : z > 0 ? "is-rising" : "is-falling");

/**
 * A line of the shares of all periods, as high as the highest.
 * @param {Phrase} phrase
 */
function sparkline(phrase) {
  const values = shares(phrase), top = Math.max(...values) || 1, step = 60 / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(15 - 13 * value / top).toFixed(1)}`);
  const svg = createSvg("svg", {viewBox: "0 0 60 16", class: `ex-spark ${direction(phrase)}`, "aria-hidden": "true"});
  svg.append(createSvg("polyline", {points: points.join(" ")}));
  return svg;
}

/** @param {Phrase} phrase */
function trendFigure(phrase) {
  const values = shares(phrase), top = Math.max(...values) || 1, width = 100 / values.length;
  const svg = createSvg("svg", {
    viewBox: "0 0 100 30", preserveAspectRatio: "none", class: `ex-bars ${direction(phrase)}`, role: "img",
    "aria-label": periods.map((period, index) => `${period}: ${phrase.counts[index]} of ${totals[index]}`).join("; "),
  });
  values.forEach((value, index) => {
    const height = 29 * value / top;
    const bar = createSvg("rect", {
      x: String(index * width), y: String(30 - height), width: String(width * 0.85), height: String(height),
    });
    const title = createSvg("title");
    title.textContent = `${periods[index]}: ${phrase.counts[index]} of ${plural(totals[index], "document")}`;
    bar.append(title);
    svg.append(bar);
  });
  const verdict = phrase.z == null || phrase.q == null ? "Too few documents for a test."
    : `${phrase.q >= LIKELY ? "No clear trend" : phrase.z > 0 ? "Rising" : "Falling"} (z ${figure(phrase.z)}, q ${figure(phrase.q)}).`;
  return create("figure", {class: "ex-trend"}, svg,
    create("p", {class: "ex-axis"}, create("span", {}, periods[0]), create("span", {}, periods[periods.length - 1])),
    create("figcaption", {}, `Share of the documents of each period, at most ${(100 * top).toFixed(1)} %. ${verdict}`));
}

// -- The list ---------------------------------------------------------------------------------------------------------

const search = create("input", {
  type: "search", id: "ex-search", placeholder: "Search phrases", "aria-label": "Search phrases", autocomplete: "off",
});
const order = create("select", {id: "ex-order", "aria-label": "Order of phrases"},
  ...Object.entries(ORDERS).map(([value, [label]]) => create("option", {value}, label)));
const list = create("ol", {class: "ex-list"});
const more = create("button", {type: "button", class: "ex-more"});
const inTexts = create("a", {class: "ex-in-texts"});
const count = create("p", {class: "ex-count", role: "status"});
let limit = LISTED;

/** @param {Phrase} phrase */
function row(phrase) {
  return create("li", {}, create("a", {href: `#${phrase.number}`, class: "ex-row", "data-number": phrase.number},
    create("bdi", {class: "ex-name"}, phrase.name), periods.length ? sparkline(phrase) : null,
    create("span", {class: "ex-documents", title: "documents"}, phrase.documents.toLocaleString("en"))));
}

function showList() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = phrases.filter(({lower}) => words.every((word) => lower.includes(word)));
  matching.sort(ORDERS[order.value][1]);
  list.replaceChildren(...matching.slice(0, limit).map(row));
  more.hidden = matching.length <= limit;
  more.textContent = `Show more of ${matching.length.toLocaleString("en")} phrases`;
  count.textContent = plural(matching.length, "phrase");
  inTexts.hidden = !words.length;
  inTexts.href = `#search=${encodeURIComponent(search.value.trim())}`;
  inTexts.textContent = `Search all texts for “${search.value.trim()}”`;
  markCurrent();
}

function markCurrent() {
  const current = location.hash.slice(1);
  for (const link of list.querySelectorAll("a")) {
    if (link.dataset.number === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// -- Texts ------------------------------------------------------------------------------------------------------------

/**
 * A text with a link at every phrase; the phrase that was chosen, or the words that were searched, are marked.
 * @param {TextData} data
 * @param {number} chosen
 * @param {string} words
 */
function article([id, day, text, places], chosen, words) {
  const offset = utf16Offsets(text), spans = [];
  for (let at = 0; at < places.length; at += 3)
    spans.push({node: places[at], from: offset(places[at + 1]), to: offset(places[at + 2])});
  const lower = text.toLowerCase();
  if (words && lower.length === text.length)
    for (let at = lower.indexOf(words); at >= 0; at = lower.indexOf(words, at + words.length))
      spans.push({node: -1, from: at, to: at + words.length});
  const body = create("p", {class: "ex-text", dir: "auto", lang: ""});
  let end = 0;
  for (const piece of segments(spans)) {
    const owner = piece.spans.find(({node}) => node === chosen || node < 0) ?? longest(piece.spans);
    const part = text.slice(piece.from, piece.to), strong = owner.node === chosen || owner.node < 0;
    body.append(text.slice(end, piece.from), strong ? create("mark", {class: "heat-5"}, part)
      : create("a", {href: `#${owner.node}`, class: "ex-phrase"}, part));
    end = piece.to;
  }
  body.append(text.slice(end));
  return create("article", {class: "ex-document"},
    create("h3", {}, create("bdi", {}, id), day ? create("time", {datetime: day}, day) : null), body);
}

/**
 * @template {{from: number, to: number}} T
 * @param {T[]} spans
 */
const longest = (spans) => spans.reduce((best, span) => (span.to - span.from > best.to - best.from ? span : best));

/**
 * The first texts, and a button for more.
 * @param {number[]} indexes
 * @param {number} chosen
 * @param {string} [words]
 */
function articles(indexes, chosen, words = "") {
  const section = create("section", {class: "ex-texts"});
  const button = create("button", {type: "button", class: "ex-more"}, "Show more documents");
  let shown = 0;
  const add = () => {
    button.before(...indexes.slice(shown, shown + SHOWN_TEXTS).map((index) => article(corpusTexts[index], chosen, words)));
    shown += SHOWN_TEXTS;
    button.hidden = shown >= indexes.length;
  };
  section.append(button);
  add();
  button.addEventListener("click", add);
  return section;
}

// -- One phrase, or a search ------------------------------------------------------------------------------------------

const detail = create("section", {class: "ex-detail", tabindex: "-1", "aria-live": "off"});

/** @param {Neighbour} neighbour */
function neighbourRow({phrase, npmi, chunks}) {
  const bar = createSvg("svg", {viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "ex-bar", "aria-hidden": "true"});
  bar.append(createSvg("rect", {width: String(100 * Math.max(0, npmi)), height: "6"}));
  return create("li", {}, create("a", {href: `#${phrase.number}`, class: "ex-neighbour"},
    create("bdi", {class: "ex-name"}, phrase.name), bar,
    create("span", {class: "ex-documents", title: `NPMI ${figure(npmi)}`}, `${figure(npmi)}, ${plural(chunks, "chunk")}`)));
}

/** @param {Phrase} phrase */
function showPhrase(phrase) {
  const neighbours = [...phrase.neighbours].sort((a, b) => b.npmi - a.npmi || a.phrase.number - b.phrase.number);
  const community = phrase.community == null ? []
    : phrases.filter((other) => other.community === phrase.community && other !== phrase).slice(0, 12);
  const links = community.map((other) => create("a", {href: `#${other.number}`, class: "ex-chip"}, create("bdi", {}, other.name)));
  const missing = phrase.documents - phrase.texts.length;
  detail.replaceChildren(
    create("h2", {}, create("bdi", {}, phrase.name)),
    create("p", {class: "ex-facts"}, `In ${phrase.documents.toLocaleString("en")} of ${plural(source.documents, "document")}; mean score ${figure(phrase.score)}.`),
    ...(periods.length ? [trendFigure(phrase)] : []),
    ...(neighbours.length ? [create("h3", {}, "Neighbours"), create("ol", {class: "ex-neighbours"}, ...neighbours.map(neighbourRow))] : []),
    ...(links.length ? [create("h3", {}, "Community"), create("p", {class: "ex-chips"}, ...links)] : []),
    create("h3", {}, "Documents"), articles(phrase.texts, phrase.number),
    ...(missing > 0 ? [create("p", {class: "ex-facts"}, `${plural(missing, "more document")} not in this page.`)] : []));
}

/** @param {string} words */
function showSearch(words) {
  const lower = words.toLowerCase();
  const indexes = corpusTexts.flatMap(([, , text], index) => (text.toLowerCase().includes(lower) ? [index] : []));
  detail.replaceChildren(create("h2", {}, `“${words}”`),
    create("p", {class: "ex-facts"}, `In ${plural(indexes.length, "text")} of ${corpusTexts.length.toLocaleString("en")}.`),
    articles(indexes, -1, lower));
}

function showHash() {
  const hash = location.hash.slice(1), words = hash.startsWith("search=") ? decode(hash.slice(7)) : "";
  const phrase = /^\d+$/.test(hash) ? phrases[Number(hash)] : undefined;
  document.body.classList.toggle("has-detail", Boolean(words || phrase));
  if (words) showSearch(words);
  else if (phrase) showPhrase(phrase);
  else if (phrases.length) showPhrase(phrases[0]);
  else detail.replaceChildren(create("p", {class: "ex-facts"}, "No keyphrases."));
  markCurrent();
  if (words || phrase) window.scrollTo(0, 0);
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// -- The page ---------------------------------------------------------------------------------------------------------

const theme = create("button", {type: "button", class: "mv-theme"});
themeButton(theme);
document.querySelector("header")?.append(theme);
document.getElementById("mudy-view")?.replaceChildren(
  create("nav", {class: "ex-side", "aria-label": "Phrases"},
    create("div", {class: "ex-controls"}, search, order), create("div", {class: "ex-status"}, count, inTexts), list, more),
  create("a", {href: "#", class: "ex-back"}, "← All phrases"), detail);
search.addEventListener("input", () => { limit = LISTED; showList(); });
order.addEventListener("change", () => { limit = LISTED; showList(); });
more.addEventListener("click", () => { limit += 2 * LISTED; showList(); });
addEventListener("hashchange", showHash);
showList();
showHash();
document.documentElement.dataset.ready = "";
