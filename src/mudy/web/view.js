/* MudyView: a text as one or several methods see it, coloured, with the ranking beside it.
 *
 *   const view = MudyView.mount(element, data, {topN: 10, lambda: null, controls: true, onChange(state) {},
 *     ceiling() {}});
 *   view.set({topN: 5, lambda: 1.2});  view.update(data);  view.destroy();
 *
 * `data` is what Explanation.to_dict() gives, with the text added. Nothing here asks a server, and all text reaches the
 * page as text nodes. The pure functions at the top also work without a page, for tests. */
const MudyView = (() => {
  "use strict";

  // --- Numbers: the same answers as mudy.ranking and mudy.explanation ----------------------------------------------

  const DIGITS = 5; // significant digits that decide a rank
  const STEPS = 8; // colours of the scale
  const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g; // as Python's str.split

  /** Where a code point of the text stands in the UTF-16 of JavaScript. */
  function offsets(text) {
    if (!/[\ud800-\udfff]/.test(text)) return (index) => index;
    const at = [0];
    for (const character of text) at.push(at[at.length - 1] + character.length);
    return (index) => at[Math.min(index, at.length - 1)];
  }

  /** A score as it counts in a ranking: rounded half to even, as Python does. */
  function rounded(score) {
    const near = Number(score.toPrecision(DIGITS));
    if (Number(score.toPrecision(DIGITS + 1)) !== score) return near;
    const [digits, power] = Math.abs(score).toExponential(60).split("e");
    const figures = digits.replace(".", "");
    if (!/^50*$/.test(figures.slice(DIGITS)) || figures[DIGITS - 1] % 2) return near;
    return Math.sign(score) * Number(`${figures[0]}.${figures.slice(1, DIGITS)}e${power}`);
  }

  /** How many of the sorted values are lower. */
  function below(sorted, value) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  /** For each score the share of the others that are lower, from 0 to 1. */
  function heat(scores) {
    const sorted = Float64Array.from(scores).sort();
    const last = Math.max(1, sorted.length - 1);
    return Array.from(scores, (score) => below(sorted, score) / last);
  }

  const step = (share) => Math.min(STEPS - 1, Math.floor(share * STEPS));

  /** Whether a method's ranking under another lambda follows from what is known. */
  function movable(method) {
    const {free = [], settings = {}, keyphrases = []} = method;
    return free.includes("lambda_") && settings.lambda_ > 0 && keyphrases.every((k, i) => i === 0
      || precedes(best(keyphrases[i - 1]), best(k))) && keyphrases.every((k) => k.occurrences.every((o) => "AS" in o));
  }

  const best = (keyphrase) => ({key: rounded(keyphrase.score), ...keyphrase.occurrences[0]});
  const compare = (a, b) => b.key - a.key || a.start - b.start || a.end - b.end;
  const precedes = (a, b) => compare(a, b) <= 0;

  const weight = (place, settings, lambda) => place.lambda * lambda / settings.lambda_;

  /** The score of an occurrence under another lambda: FS = p / (1 + log(1 + lambda AS)) / (1 + rho log m). */
  function recombined(place, settings, lambda) {
    const inForce = weight(place, settings, lambda);
    const lift = settings.lambda_outside ? inForce * Math.log1p(place.AS) : Math.log1p(inForce * place.AS);
    return place.p / (1 + lift) / (1 + settings.recurrence * Math.log(place.m));
  }

  /** The phrases, best first: [{from, places: [{place, score}, ...]}], `from` the index in `method.keyphrases`. */
  function ordered(method, lambda) {
    const given = lambda == null || lambda === method.settings.lambda_ || !movable(method);
    const groups = method.keyphrases.map((keyphrase, from) => {
      const places = keyphrase.occurrences.map((place) => {
        const score = given ? place.score : recombined(place, method.settings, lambda);
        return {place, score, start: place.start, end: place.end, key: given ? 0 : rounded(score)};
      });
      return {from, places: given ? places : places.sort(compare)};
    });
    return given ? groups : groups.sort((a, b) => compare(a.places[0], b.places[0]));
  }

  const squeeze = (text) => text.replace(SPACE, " ").trim();

  /** The forms of a phrase, that of its best occurrence first. */
  function forms(text, at, places) {
    return [...new Set(places.map(({start, end}) => squeeze(text.slice(at(start), at(end)))))];
  }

  /** What the service would answer under this lambda and for so many phrases; null leaves either as it is. */
  function reranked(data, {lambda = null, topN = null} = {}) {
    const at = offsets(data.text);
    const methods = data.methods.map((method) => {
      if (lambda == null || lambda === method.settings.lambda_ || !movable(method))
        return {...method, keyphrases: method.keyphrases.slice(0, topN ?? undefined)};
      const keyphrases = ordered(method, lambda).slice(0, topN ?? undefined).map(({places}, index) => {
        const [text, ...variants] = forms(data.text, at, places);
        const occurrences = places.map(({place, score}) => (
          {...place, score, lambda: weight(place, method.settings, lambda)}));
        return {rank: index + 1, text, score: places[0].score, variants, occurrences};
      });
      return {...method, keyphrases, settings: {...method.settings, lambda_: lambda}};
    });
    return {...data, methods};
  }

  // --- Text: blocks and segments -----------------------------------------------------------------------------------

  /** Cut a text where spans begin and end: [{from, to, spans, gold}], in order, only where something stands. */
  function segments(spans, gold = []) {
    const cuts = [...new Set([...spans, ...gold].flatMap((span) => [span.from, span.to]))].sort((a, b) => a - b);
    const waiting = [...spans].sort((a, b) => a.from - b.from || a.to - b.to);
    const golden = [...gold].sort((a, b) => a.from - b.from);
    const found = [];
    let open = [], bright = [], i = 0, j = 0;
    for (let k = 0; k + 1 < cuts.length; k++) {
      const from = cuts[k], to = cuts[k + 1];
      while (i < waiting.length && waiting[i].from <= from) open.push(waiting[i++]);
      while (j < golden.length && golden[j].from <= from) bright.push(golden[j++]);
      open = open.filter((span) => span.to > from);
      bright = bright.filter((span) => span.to > from);
      if (open.length || bright.length) found.push({from, to, spans: [...open], gold: bright.length > 0});
    }
    return found;
  }

  const BLOCK = 1200; // characters after which a line break ends a block, if no blank line came before
  const ENDLESS = 5000; // characters after which a sentence does

  /** Cut a text after blank lines, in long passages after a line or at last a sentence; never within a span. */
  function blocks(text, spans) {
    const ordered = [...spans].sort((a, b) => a.from - b.from);
    const found = [];
    let start = 0, i = 0, reach = 0;
    for (const gap of text.matchAll(/\n(?:[^\S\n]*\n)*|[.!?]\s|[。！？]/g)) {
      const least = gap[0][0] !== "\n" ? ENDLESS : gap[0].length > 1 ? 0 : BLOCK;
      const cut = gap.index + gap[0].length;
      while (i < ordered.length && ordered[i].from < cut) reach = Math.max(reach, ordered[i++].to);
      if (cut < text.length && reach <= cut && cut - start > least) {
        found.push({from: start, to: cut});
        start = cut;
      }
    }
    if (start < text.length) found.push({from: start, to: text.length});
    return found;
  }

  // --- Words -------------------------------------------------------------------------------------------------------

  const NAMES = {
    mudy: "MUDY", promptrank: "PromptRank", textrank: "TextRank", singlerank: "SingleRank", topicrank: "TopicRank",
    multipartiterank: "MultipartiteRank", yake: "YAKE", embedrank: "EmbedRank", jointgl: "JointGL", mderank: "MDERank",
    samrank: "SAMRank", attentionseeker: "AttentionSeeker", empirical: "Empirical",
  };

  const PARTS = {
    p: ["p", "likelihood of the phrase"],
    G: ["G", "attention in the whole text"],
    L: ["L", "attention in its passage"],
    AS: ["AS", "attention score"],
    lambda: ["λ", "weight of attention here"],
    m: ["m", "sections that hold it"],
    weighted: ["w", "whether p was computed with weighting (1) or without (0)"],
    r: ["r", "penalty for a late place"],
    H: ["H", "weight of its words, low is good"],
    P: ["P", "share of attention"],
    b: ["b", "attention received"],
    n: ["n", "times counted"],
    cosine: ["cos", "likeness to the whole text"],
    local: ["local", "centrality among phrases"],
    global: ["global", "nearness to the whole text"],
    position: ["pos", "early place"],
  };

  const nameOf = (method) => NAMES[method] ?? method;

  /** A number for people: four figures and a true minus sign. */
  const figure = (value) => String(Number(Number(value).toPrecision(4))).replace("-", "−");

  function ordinal(n) {
    const teen = n % 100 > 10 && n % 100 < 14;
    return n.toLocaleString("en") + (teen ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th");
  }

  const plural = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

  /** How a score follows from its parts, in figures; null where we do not say. */
  function formula(method, facts) {
    const {p, r, AS, lambda, m, H, local, global, position, score} = facts, {settings = {}} = method;
    if (AS != null && p != null) {
      const lift = settings.lambda_outside
        ? `${figure(lambda)} × log(1 + ${figure(AS)})` : `log(1 + ${figure(lambda)} × ${figure(AS)})`;
      const again = m > 1 ? ` ÷ (1 + ${figure(settings.recurrence)} × log ${m})` : "";
      return `${figure(p)} ÷ (1 + ${lift})${again} = ${figure(score)}`;
    }
    if (p != null && r != null) return `${figure(p)} × ${figure(r)} = ${figure(score)}`;
    if (H != null) return `−log ${figure(H)} = ${figure(score)}`;
    if (local != null) return [local, global, position].map(figure).join(" × ") + ` = ${figure(score)}`;
    return null;
  }

  /** What changed against another method: "2nd here, 7th with PromptRank: 5 higher". */
  function change(rank, otherRank, otherName) {
    if (!otherRank) return `${ordinal(rank)} here, not among the phrases of ${otherName}`;
    const by = otherRank - rank;
    const moved = by > 0 ? `${by} higher` : by < 0 ? `${-by} lower` : "no change";
    return `${ordinal(rank)} here, ${ordinal(otherRank)} with ${otherName}: ${moved}`;
  }

  const pure = {offsets, rounded, heat, step, movable, recombined, reranked, segments, blocks, nameOf, figure, ordinal,
    plural, formula, change, squeeze};
  if (typeof document === "undefined") return pure;

  // --- Nodes -------------------------------------------------------------------------------------------------------

  /** An element with attributes, and children that are nodes or text. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value != null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child != null));
    return element;
  }

  function drawn(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const narrow = () => matchMedia("(max-width: 719px)").matches;

  /** A labelled range with its value in words. */
  function slider({label, hint, min, max, step, value, onInput}) {
    const input = make("input", {type: "range", min, max, step, value});
    const output = make("output", {}, figure(input.value));
    input.addEventListener("input", () => {
      output.textContent = figure(input.value);
      onInput(Number(input.value));
    });
    return make("label", {class: "mv-slider", title: hint}, make("span", {}, label), input, output);
  }

  // --- One method's reading of the text ----------------------------------------------------------------------------

  /** Phrases and the places ("spots") where they stand, as one method ranks them under the lambda in force. */
  class Reading {
    constructor(method, text, at) {
      Object.assign(this, {method, text, at, name: nameOf(method.method), shares: new Map(), spans: new Map()});
      this.movable = movable(method);
      this.phrases = method.keyphrases.map((keyphrase) => ({reading: this, was: keyphrase.rank, spots: []}));
      this.spotOf = new Map();
      method.keyphrases.forEach((keyphrase, index) => {
        for (const place of keyphrase.occurrences) this.add(this.phrases[index], place);
      });
      this.spots = [...this.spotOf.values()].sort((a, b) => a.from - b.from || a.to - b.to);
      for (const phrase of this.phrases) {
        phrase.spots.sort((a, b) => a.from - b.from || a.to - b.to);
        phrase.spots.forEach((spot, index) => { spot.number = index + 1; });
      }
      this.rank(null);
    }

    add(phrase, place) {
      const spot = {phrase, place, from: this.at(place.start), to: this.at(place.end), segments: []};
      phrase.spots.push(spot);
      this.spotOf.set(place, spot);
      this.spans.set(`${place.start}:${place.end}`, spot);
    }

    rank(lambda) {
      this.lambda = this.movable ? lambda : null;
      this.order = ordered(this.method, this.lambda).map(({from, places}, index) => {
        const phrase = this.phrases[from];
        const [text, ...variants] = forms(this.text, this.at, places);
        for (const {place, score} of places) this.spotOf.get(place).score = score;
        return Object.assign(phrase, {rank: index + 1, text, variants, best: this.spotOf.get(places[0].place)});
      });
      heat(this.spots.map((spot) => spot.score)).forEach((share, index) => {
        Object.assign(this.spots[index], {heat: share, step: step(share)});
      });
    }

    /** The parts of a spot's score, as they are in force. */
    facts(spot) {
      const {place} = spot, {settings} = this.method;
      const lambda = this.lambda == null ? {} : {lambda: weight(place, settings, this.lambda)};
      return {...place, score: spot.score, ...lambda};
    }

    /** The share of places where a part is lower, or null for a part that is the same everywhere. */
    share(part, value) {
      if (!this.shares.has(part)) {
        this.shares.set(part, Float64Array.from(this.spots, (spot) => spot.place[part] ?? NaN).sort());
      }
      const sorted = this.shares.get(part);
      return sorted[0] === sorted[sorted.length - 1] ? null : below(sorted, value) / Math.max(1, sorted.length - 1);
    }

    /** This method's phrase for that of another method: the one at the same place, else of the same form. */
    counterpart(phrase) {
      if (phrase.reading === this) return phrase;
      for (const {place} of phrase.spots) {
        const spot = this.spans.get(`${place.start}:${place.end}`);
        if (spot) return spot.phrase;
      }
      const form = phrase.text.toLowerCase();
      return this.phrases.find((own) => [own.text, ...own.variants].some((each) => each.toLowerCase() === form)) ?? null;
    }
  }

  // --- The text of one method --------------------------------------------------------------------------------------

  const FIRST = 9000; // characters shown at once; the rest follows while the page is idle
  const SLICE = 12; // milliseconds of work before the page may draw

  /** The coloured text. Blocks are filled one after another, or when they are needed. */
  class Panel {
    constructor(view, reading, index) {
      Object.assign(this, {view, reading, index});
      const {method} = reading, id = `mv-${view.id}-${index}`;
      this.body = make("div", {class: "mv-text", role: "group", dir: "auto", "aria-labelledby": id,
        "aria-description": "Arrow keys go from phrase to phrase, N and P through the places of one."});
      this.element = make("section", {class: "mv-panel", "aria-labelledby": id},
        make("header", {class: "mv-head"}, make("h3", {id}, reading.name), make("p", {}, about(method, reading))),
        this.body);
      this.cut();
    }

    cut() {
      const {text, spots} = this.reading, {gold} = this.view;
      const all = segments(spots, gold);
      let i = 0;
      this.blocks = blocks(text, [...spots, ...gold]).map((block) => {
        const element = make("div", {class: "mv-block"});
        const own = [];
        while (i < all.length && all[i].from < block.to) own.push(all[i++]);
        for (const segment of own) {
          Object.assign(segment, {panel: this, block, spot: null});
          for (const spot of segment.spans) spot.segments.push(segment);
        }
        return Object.assign(block, {element, segments: own});
      });
      this.segments = all.filter((segment) => segment.spans.length);
      this.segments.forEach((segment, index) => { segment.index = index; });
      this.body.append(...this.blocks.map((block) => block.element));
      this.own();
    }

    /** Who owns a segment: the best of those that stand there. Its first segment is what the keyboard reaches. */
    own() {
      let before = null;
      for (const segment of this.segments) {
        const {spans} = segment;
        segment.spot = spans.length === 1 ? spans[0] : spans.reduce((a, b) => (leads(b, a) ? b : a));
        segment.head = segment.spot !== before;
        before = segment.spot;
      }
    }

    /** Tell blocks that are not drawn yet how tall they will be. */
    estimate() {
      const width = this.body.clientWidth || 600, size = parseFloat(getComputedStyle(this.body).fontSize) || 18;
      const room = Math.max(20, width / (size * 0.47));
      for (const block of this.blocks) {
        const lines = this.reading.text.slice(block.from, block.to).replace(/\n$/, "").split("\n");
        const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / room)), 0);
        block.element.style.containIntrinsicBlockSize = `auto ${Math.round(rows * size * 1.65)}px`;
      }
    }

    fill(block) {
      if (block.filled) return;
      block.filled = true;
      const {text} = this.reading, nodes = [];
      let at = block.from;
      for (const segment of block.segments) {
        if (segment.from > at) nodes.push(text.slice(at, segment.from));
        const words = text.slice(segment.from, segment.to);
        const inner = segment.gold ? make("em", {class: "gold"}, words) : words;
        if (segment.spans.length) {
          segment.element = make("span", {}, inner);
          segment.element.segment = segment;
          this.paint(segment);
          nodes.push(segment.element);
        } else nodes.push(inner);
        at = segment.to;
      }
      if (at < block.to) nodes.push(text.slice(at, block.to));
      block.element.append(...nodes);
    }

    /** Colour, underline and role of a segment, touched only where they changed. */
    paint(segment) {
      const {element, spot, head} = segment;
      if (!element) return;
      const top = spot.phrase.rank <= this.view.state.topN;
      const name = `mv-o heat-${spot.step}${top ? " is-top" : ""}${top && spot.phrase.best === spot ? " is-best" : ""}`;
      if (segment.name !== name) {
        segment.name = element.className = name;
        element.removeAttribute("aria-label"); // it told the old rank
      }
      if (segment.reachable === head) return;
      segment.reachable = head;
      if (head) {
        element.setAttribute("role", "button");
        element.tabIndex = -1;
      } else {
        element.removeAttribute("role");
        element.removeAttribute("tabindex");
      }
    }

    repaint() {
      this.own();
      for (const segment of this.segments) this.paint(segment);
      if (!this.stop?.head || !this.stop.element) this.rove(this.segments[0]);
    }

    /** The one place that the Tab key reaches. */
    rove(segment) {
      if (!segment) return;
      this.fill(segment.block);
      if (this.stop?.element && this.stop !== segment) this.stop.element.tabIndex = -1;
      this.stop = segment;
      segment.element.tabIndex = 0;
    }

    /** The next reachable segment in a direction. */
    beside(segment, by) {
      let index = segment.index + by;
      while (this.segments[index] && !this.segments[index].head) index += by;
      return this.segments[index] ?? null;
    }

    /** Where a spot is reached: its first segment that it owns, else its first. */
    segmentOf(spot) {
      return spot.segments.find((segment) => segment.spot === spot && segment.head) ?? spot.segments[0];
    }
  }

  const leads = (a, b) => a.score > b.score || (a.score === b.score && a.to - a.from < b.to - b.from);

  function about(method, reading) {
    const {coverage, model, seconds} = method;
    const found = `${plural(reading.phrases.length, "phrase")} at ${plural(reading.spots.length, "place")}`;
    const read = coverage?.share < 1 && `read ${coverage.words_read} of ${plural(coverage.words, "word")}`;
    const time = seconds != null && `${seconds < 0.1 ? "under 0.1" : seconds.toFixed(seconds < 10 ? 1 : 0)}\u00a0s`;
    return [model, found, read, time].filter(Boolean).join(" · ");
  }

  // --- Rankings and the lines between them -------------------------------------------------------------------------

  /** Where the occurrences of a phrase lie in the text, taller and warmer where they score better. */
  function strip(phrases, length) {
    const rows = phrases.filter(Boolean);
    const svg = drawn("svg", {class: "mv-strip", viewBox: `0 0 1000 ${rows.length * 10}`, preserveAspectRatio: "none",
      "aria-hidden": "true"});
    rows.forEach((phrase, row) => {
      const floor = row * 10 + 10;
      svg.append(drawn("path", {class: "mv-base", d: `M0 ${floor}H1000`}));
      const paths = Array.from({length: STEPS}, () => "");
      const seen = new Set();
      for (const spot of phrase.spots) {
        const x = Math.round(1000 * spot.from / Math.max(1, length)), mark = x * STEPS + spot.step;
        if (!seen.has(mark)) paths[spot.step] += `M${x} ${floor}V${floor - 3 - spot.step}`;
        seen.add(mark);
      }
      paths.forEach((d, at) => { if (d) svg.append(drawn("path", {class: `tick-${at}`, d})); });
    });
    return svg;
  }

  class Ranks {
    constructor(view) {
      this.view = view;
      this.element = make("section", {class: "mv-ranks", "aria-label": "Ranking"});
      this.columns = view.readings.map((reading, index) => {
        const list = make("ol", {class: "mv-list"});
        const column = make("div", {class: "mv-rank"}, make("h3", {}, reading.name), list);
        if (index) {
          const lines = drawn("svg", {class: "mv-slopes", "aria-hidden": "true", preserveAspectRatio: "none"});
          this.element.append(lines);
          column.lines = lines;
        }
        this.element.append(column);
        return {reading, list, column, lines: column.lines, rows: new Map(), shown: []};
      });
    }

    draw() {
      for (const column of this.columns) this.fill(column);
      this.columns.slice(1).forEach((column, index) => this.slopes(column.lines, this.columns[index], column));
    }

    fill(column) {
      const {reading, list, rows} = column;
      const shown = reading.order.slice(0, this.view.state.topN);
      const places = new Map(column.shown.map((phrase, index) => [phrase, index]));
      const focused = list.contains(document.activeElement) ? document.activeElement : null;
      const items = shown.map((phrase) => {
        if (!rows.has(phrase)) rows.set(phrase, this.row(phrase));
        this.write(rows.get(phrase), phrase);
        return rows.get(phrase).item;
      });
      list.replaceChildren(...items);
      if (!shown.length) list.append(make("li", {class: "mv-none"}, "No phrases were found in this text."));
      this.glide(column, shown, places);
      column.shown = shown;
      if (focused?.isConnected) focused.focus({preventScroll: true});
      const stop = items.find((item) => item.firstChild.tabIndex === 0);
      if (!stop && items.length) items[0].firstChild.tabIndex = 0;
    }

    row(phrase) {
      const parts = {
        n: make("span", {class: "mv-n"}), phrase: make("bdi", {class: "mv-phrase"}),
        moved: make("span", {class: "mv-moved"}), other: make("span", {class: "mv-other"}),
        where: make("span", {class: "mv-where"}),
      };
      const button = make("button", {type: "button", class: "mv-row", tabindex: "-1"}, ...Object.values(parts));
      button.phrase = phrase;
      return {...parts, button, item: make("li", {}, button)};
    }

    write(row, phrase) {
      const moved = phrase.was - phrase.rank, {readings, text} = this.view;
      const others = readings.filter((reading) => reading !== phrase.reading)
        .map((reading) => ({name: reading.name, rank: reading.counterpart(phrase)?.rank}));
      row.n.textContent = phrase.rank;
      row.phrase.replaceChildren(this.view.isGold(phrase) ? make("em", {class: "gold"}, phrase.text) : phrase.text);
      row.moved.textContent = moved ? (moved > 0 ? "↑" : "↓") + Math.abs(moved) : "";
      row.moved.dataset.way = moved > 0 ? "up" : "down";
      row.other.replaceChildren(...others.flatMap(({name, rank}, index) => [
        index ? ", " : "", make("span", {class: "mv-other-name"}, `${name} `), String(rank ?? "–")]));
      row.button.classList.toggle("is-out", others.every(({rank}) => !(rank <= this.view.state.topN)));
      row.where.replaceChildren(strip([phrase], text.length));
      row.button.title = phrase.text;
      row.button.setAttribute("aria-label", [`${phrase.rank}. ${phrase.text}`, plural(phrase.spots.length, "place"),
        this.view.isGold(phrase) ? "gold" : "", `score ${figure(phrase.best.score)}`, moved ? `${moved > 0 ? "up" : "down"} ${Math.abs(moved)}` : "",
        ...others.map(({name, rank}) => (rank ? `${ordinal(rank)} with ${name}` : `not found by ${name}`))]
        .filter(Boolean).join(", "));
    }

    /** Rows move from where they stood. */
    glide(column, shown, places) {
      if (!column.shown.length || still()) return;
      const first = column.list.firstElementChild, height = first?.offsetHeight ?? 0;
      shown.forEach((phrase, index) => {
        const before = places.get(phrase);
        if (before === index) return;
        const from = before == null ? {opacity: 0} : {transform: `translateY(${(before - index) * height}px)`};
        const {item} = column.rows.get(phrase);
        item.animate([from, {opacity: 1, transform: "none"}], {duration: 240, easing: "ease-out"});
      });
    }

    /** A line for each phrase that two neighbouring rankings share; where only one shows it, a stub. */
    slopes(svg, left, right) {
      const count = Math.max(left.shown.length, right.shown.length, 1);
      svg.setAttribute("viewBox", `0 0 100 ${count * 10}`);
      svg.style.setProperty("--rows", count);
      const line = (way, phrase, d) => Object.assign(drawn("path", {class: `mv-slope is-${way}`, d}), {phrase});
      const rest = new Map(right.shown.map((phrase, index) => [phrase, index]));
      const lines = left.shown.map((phrase, a) => {
        const other = right.reading.counterpart(phrase), b = rest.get(other), y = a * 10 + 5, z = b * 10 + 5;
        if (!rest.delete(other)) return line("out", phrase, `M0 ${y}h12`);
        return line(b < a ? "up" : b > a ? "down" : "level", phrase, `M0 ${y}C45 ${y} 55 ${z} 100 ${z}`);
      });
      for (const [phrase, b] of rest) lines.push(line("out", phrase, `M100 ${b * 10 + 5}h-12`));
      svg.replaceChildren(...lines);
    }

    /** Mark a phrase's row and line in each ranking. */
    mark(kin) {
      for (const {rows} of this.columns)
        for (const [phrase, {button}] of rows) button.classList.toggle("is-kin", kin.has(phrase));
      for (const svg of this.element.querySelectorAll(".mv-slopes"))
        for (const line of svg.children) line.classList.toggle("is-kin", kin.has(line.phrase));
    }
  }

  // --- The card ----------------------------------------------------------------------------------------------------

  /** What is known of one occurrence: a tooltip while the pointer or the focus is there, a small dialog when pinned. */
  class Card {
    constructor(view) {
      this.view = view;
      this.element = make("div", {class: "mv-card", id: `mv-${view.id}-card`, hidden: true});
      document.body.append(this.element);
    }

    show(spot, segment, pinned) {
      Object.assign(this, {spot, segment, pinned});
      const {element} = this;
      element.replaceChildren(...this.content(spot, segment, pinned));
      element.setAttribute("role", pinned ? "dialog" : "tooltip");
      if (pinned) element.setAttribute("aria-label", spot.phrase.text);
      else element.removeAttribute("aria-label"); // a tooltip is described by what it says
      element.classList.toggle("is-pinned", pinned);
      element.hidden = false;
      this.place(segment);
    }

    hide() {
      this.element.hidden = true;
      this.spot = null;
      this.pinned = false;
    }

    /** Beside the words, never over them and never off the screen; a sheet at the bottom of narrow screens. */
    place(segment) {
      const {style} = this.element;
      style.left = style.top = "";
      if (narrow()) return;
      const boxes = [...segment.element.getClientRects()], first = boxes[0], last = boxes[boxes.length - 1];
      if (!first) return;
      const gap = 8, {width, height} = this.element.getBoundingClientRect();
      const ceiling = this.view.ceiling() + gap, floor = innerHeight - height - gap;
      const right = Math.min(document.documentElement.clientWidth - gap, this.view.root.getBoundingClientRect().right);
      const edge = right - width;
      const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
      let left = clamp(first.left - 16, gap, edge), top = last.bottom + gap;
      if (top > floor && first.top - gap - height >= ceiling) top = first.top - gap - height;
      else if (top > floor) {
        const after = Math.max(first.right, last.right) + gap;
        left = after <= edge ? after : Math.max(gap, Math.min(first.left, last.left) - width - gap);
        top = clamp(first.top - height / 2, Math.min(ceiling, floor), floor);
      }
      style.left = `${left + scrollX}px`;
      style.top = `${top + scrollY}px`;
    }

    content(spot, segment, pinned) {
      const {phrase} = spot, {reading} = phrase, facts = reading.facts(spot);
      const total = reading.phrases.length;
      const head = make("div", {class: "mv-card-head"}, make("bdi", {class: "mv-card-phrase"}, phrase.text),
        pinned ? this.button("Close", "×", () => this.view.close()) : null);
      const rank = make("p", {class: "mv-card-rank"}, make("b", {}, ordinal(phrase.rank)),
        ` of ${total.toLocaleString("en")} by ${reading.name}`, make("span", {}, `score ${figure(spot.score)}`));
      return [head, rank, this.note(spot), this.parts(reading, facts), this.sum(reading, facts), this.others(phrase),
        this.also(spot, segment, pinned), this.walk(spot, pinned)].filter(Boolean);
    }

    /** Other forms, and which place gave the rank when it is not this one. */
    note(spot) {
      const {phrase} = spot, words = [];
      if (phrase.best !== spot) words.push(`its best place scores ${figure(phrase.best.score)}`);
      const list = make("p", {class: "mv-card-note"}, words.join(""));
      phrase.variants.slice(0, 4).forEach((form, index) => {
        list.append(index ? ", " : words.length ? "; also " : "also ", make("bdi", {}, `“${form}”`));
      });
      return list.childNodes.length ? list : null;
    }

    parts(reading, facts) {
      const rows = Object.keys(facts).filter((part) => !["start", "end", "score"].includes(part)).map((part) => {
        const [symbol, words] = PARTS[part] ?? [part, ""];
        const share = reading.share(part, facts[part]);
        const bar = make("span", {class: "mv-bar"});
        if (share != null && part !== "lambda") {
          const fill = make("i");
          fill.style.inlineSize = `${Math.round(share * 100)}%`;
          bar.append(fill);
          bar.title = `higher than at ${Math.round(share * 100)} % of the places`;
        }
        return make("tr", {}, make("th", {scope: "row"}, symbol), make("td", {}, words), make("td", {}, bar),
          make("td", {class: "mv-value"}, figure(facts[part])));
      });
      return rows.length ? make("table", {class: "mv-parts"}, make("tbody", {}, ...rows)) : null;
    }

    sum(reading, facts) {
      const words = formula(reading.method, facts);
      return words && make("p", {class: "mv-sum"}, words);
    }

    others(phrase) {
      const {view} = this;
      const {reading: own, rank, was} = phrase;
      const lines = view.readings.filter((reading) => reading !== own)
        .map((reading) => change(rank, reading.counterpart(phrase)?.rank, reading.name));
      if (was !== rank) {
        const before = figure(own.method.settings.lambda_);
        lines.push(`${ordinal(was)} with λ ${before}, ${ordinal(rank)} with ${figure(own.lambda)}`);
      }
      return lines.length ? make("div", {}, ...lines.map((line) => make("p", {class: "mv-change"}, line))) : null;
    }

    /** Other phrases that stand at the same place. */
    also(spot, segment, pinned) {
      const others = [...new Set(spot.segments.flatMap((each) => each.spans))].filter((other) => other !== spot);
      if (!others.length) return null;
      const line = make("p", {class: "mv-also"}, "Also here: ");
      others.slice(0, 6).forEach((other, index) => {
        const words = `${other.phrase.text} (${ordinal(other.phrase.rank)})`;
        if (index) line.append(", ");
        const show = () => this.view.go(other);
        line.append(pinned ? this.button(`Show ${words}`, words, show, "mv-link") : make("bdi", {}, words));
      });
      return line;
    }

    walk(spot, pinned) {
      const {phrase} = spot, {view} = this, many = phrase.spots.length > 1;
      const row = make("div", {class: "mv-walk"},
        make("span", {}, many ? `place ${spot.number} of ${phrase.spots.length}` : "its only place"));
      const map = strip(view.readings.map((reading) => reading.counterpart(phrase)), view.text.length);
      const x = Math.round(1000 * spot.from / view.text.length);
      map.append(drawn("path", {class: "mv-needle", d: `M${x} -3V${map.viewBox.baseVal.height + 3}`}));
      row.append(map);
      if (pinned && many) {
        row.append(this.button("Previous place", "‹", () => view.along(-1)),
          this.button("Next place", "›", () => view.along(1)));
        map.addEventListener("click", (event) => view.near(phrase, event));
      }
      return row;
    }

    button(label, words, act, kind = "mv-button") {
      const told = {type: "button", class: kind, "aria-label": label, title: label};
      const element = make("button", told, make("bdi", {}, words));
      element.addEventListener("click", act);
      return element;
    }
  }

  // --- The view ----------------------------------------------------------------------------------------------------

  let mounted = 0;

  class View {
    constructor(root, data, options) {
      Object.assign(this, {root, options, id: ++mounted, work: 0});
      this.state = {topN: options.topN ?? data.top_n ?? 10, lambda: options.lambda ?? null};
      this.listen();
      this.build(data);
    }

    listen() {
      this.ears = new AbortController();
      const {signal} = this.ears, on = (target, name, act) => target.addEventListener(name, act, {signal});
      on(this.root, "pointerover", (event) => event.pointerType === "mouse" && this.over(event));
      on(this.root, "pointerout", () => this.leave());
      on(this.root, "focusin", (event) => this.focused(event));
      on(this.root, "focusout", () => this.leave());
      on(this.root, "click", (event) => this.clicked(event));
      on(this.root, "keydown", (event) => this.pressed(event));
      on(document, "keydown", (event) => { if (event.key === "Escape" && this.card.spot) this.close(); });
      on(document, "pointerdown", (event) => {
        const inside = event.target.closest?.(".mv-card, .mv-o, .mv-row");
        if (!inside && this.card.pinned) this.close(false);
      });
      on(window, "resize", () => { if (this.card.spot) this.card.place(this.card.segment); });
      on(window, "beforeprint", () => {
        for (const panel of this.panels) for (const block of panel.blocks) panel.fill(block);
      });
    }

    /** Whether a phrase stands at a place of a gold phrase, neither more nor less of it. */
    isGold(phrase) {
      return phrase.spots.some(({from, to}) => this.golden.has(`${from}-${to}`));
    }

    build(data) {
      const at = offsets(data.text);
      this.data = data;
      this.text = data.text;
      this.gold = (data.gold ?? []).flatMap((phrase) => phrase.places)
        .map(({start, end}) => ({from: at(start), to: at(end)}));
      this.golden = new Set(this.gold.map(({from, to}) => `${from}-${to}`));
      this.readings = data.methods.map((method) => new Reading(method, data.text, at));
      for (const reading of this.readings) if (this.state.lambda != null) reading.rank(this.state.lambda);
      this.card?.element.remove();
      this.card = new Card(this);
      this.marked = new Set();
      this.panels = this.readings.map((reading, index) => new Panel(this, reading, index));
      this.ranks = new Ranks(this);
      this.card.element.addEventListener("pointerenter", () => clearTimeout(this.leaving));
      this.card.element.addEventListener("pointerleave", () => this.leave());
      this.card.element.addEventListener("keydown", (event) => this.inCard(event));
      this.root.classList.add("mudy-view");
      this.root.dataset.count = this.readings.length;
      this.root.replaceChildren(...this.bar(), make("div", {class: "mv-board"}, this.ranks.element,
        ...this.panels.map((panel) => panel.element)));
      this.pick(Math.min(this.shown ?? this.readings.length - 1, this.readings.length - 1));
      this.ranks.draw();
      this.fillAll();
    }

    /** Above the text: what the colours mean, and, if wanted, the controls. */
    bar() {
      const found = [];
      if (this.options.controls !== false) found.push(this.controls());
      if (this.readings.length > 1) {
        this.tabs = this.readings.map((reading, index) => {
          const tab = make("button", {type: "button"}, reading.name);
          tab.addEventListener("click", () => this.pick(index));
          return tab;
        });
        found.push(make("div", {class: "mv-tabs", role: "group", "aria-label": "Method shown"}, ...this.tabs));
      } else this.tabs = [];
      found.push(this.legend());
      return found;
    }

    controls() {
      const {topN, lambda} = this.state, most = Math.max(1, ...this.readings.map((reading) => reading.phrases.length));
      const sliders = [slider({label: "Top phrases", min: 1, max: Math.min(50, most), step: 1, value: topN,
        onInput: (value) => this.change({topN: value})})];
      const free = this.readings.find((reading) => reading.movable);
      if (free) {
        const {lambda_} = free.method.settings;
        sliders.push(slider({label: "λ, weight of attention", min: 0, max: Math.max(5, 2 * lambda_), step: 0.05,
          value: lambda ?? lambda_, hint: `The ranking was made with ${figure(lambda_)}.`,
          onInput: (value) => this.change({lambda: value})}));
      }
      return make("div", {class: "mv-controls", role: "group", "aria-label": "Ranking"}, ...sliders);
    }

    change(next) {
      this.set(next);
      this.options.onChange?.({...this.state});
    }

    legend() {
      this.topWord = make("span", {}, this.topWords());
      const scale = make("span", {class: "mv-scale", "aria-hidden": "true"},
        ...Array.from({length: STEPS}, (_, index) => make("i", {class: `heat-${index}`})));
      const missing = (this.data.gold ?? []).filter((phrase) => !phrase.places.length).map((phrase) => phrase.text);
      return make("div", {class: "mv-legend"},
        make("span", {class: "mv-key"}, "Scores lower than most", scale, "higher than all other places"),
        make("span", {class: "mv-key"}, make("u", {class: "is-top"}, this.topWord), ", ",
          make("u", {class: "is-top is-best"}, "best place")),
        this.gold.length ? make("span", {class: "mv-key"}, make("em", {class: "gold"}, "gold phrase")) : null,
        missing.length ? make("span", {class: "mv-key"}, "Gold, but not in this text: ",
          ...missing.flatMap((phrase, index) => [index ? ", " : "", make("bdi", {}, phrase)])) : null);
    }

    topWords() {
      return this.state.topN === 1 ? "first phrase" : `top ${this.state.topN}`;
    }

    /** Which method a narrow screen shows. */
    pick(index) {
      this.shown = index;
      this.tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === index)));
      this.panels.forEach((panel, i) => panel.element.classList.toggle("is-shown", i === index));
      this.ranks.columns.forEach(({column}, i) => column.classList.toggle("is-shown", i === index));
    }

    /** The first screens of all panels now, the rest in slices. */
    fillAll() {
      const job = ++this.work, rest = [];
      for (const panel of this.panels) {
        panel.estimate();
        for (const block of panel.blocks) if (block.from < FIRST) panel.fill(block);
        panel.rove(panel.segments[0]);
      }
      for (const panel of this.panels) rest.push(...panel.blocks.map((block) => [panel, block]));
      rest.sort(([, a], [, b]) => a.from - b.from);
      const later = window.requestIdleCallback ? (act) => requestIdleCallback(act, {timeout: 300}) : setTimeout;
      const some = () => {
        const end = performance.now() + SLICE;
        while (rest.length && job === this.work && performance.now() < end) {
          const [panel, block] = rest.shift();
          panel.fill(block);
        }
        if (job !== this.work) return;
        if (rest.length) later(some); else this.root.dataset.ready = "";
      };
      delete this.root.dataset.ready;
      later(some);
    }

    set(next) {
      const {topN = this.state.topN, lambda = this.state.lambda} = next;
      const moved = lambda !== this.state.lambda;
      if (!moved && topN === this.state.topN) return;
      this.state = {topN, lambda};
      if (moved) for (const reading of this.readings) if (reading.movable) reading.rank(lambda);
      for (const panel of this.panels) panel.repaint();
      this.ranks.draw();
      this.topWord.textContent = this.topWords();
      if (this.card.spot) this.card.show(this.card.spot, this.card.segment, this.card.pinned);
      this.light(this.card.spot);
    }

    update(data) {
      this.build(data);
    }

    destroy() {
      this.work += 1;
      this.ears.abort();
      this.card.element.remove();
      this.root.replaceChildren();
      this.root.classList.remove("mudy-view");
    }

    // What the pointer and the keys do

    over(event) {
      const segment = event.target.closest(".mv-o")?.segment, row = event.target.closest(".mv-row");
      clearTimeout(this.leaving);
      clearTimeout(this.coming);
      if (this.card.pinned) return;
      if (segment) this.coming = setTimeout(() => this.reveal(segment.spot, segment), this.card.spot ? 20 : 90);
      else if (row) this.light(row.phrase.spots[0]);
      else this.leave();
    }

    leave() {
      clearTimeout(this.coming);
      clearTimeout(this.leaving);
      this.leaving = setTimeout(() => {
        const {activeElement} = document, held = activeElement.segment?.panel.view === this;
        if (!this.card.pinned && !(held && activeElement.matches(":focus-visible"))) this.hide();
      }, 160);
    }

    focused(event) {
      const {segment} = event.target;
      clearTimeout(this.leaving);
      if (!segment) return;
      segment.panel.rove(segment);
      const spot = this.aim?.segments.includes(segment) ? this.aim : segment.spot;
      this.label(spot, segment);
      if (event.target.matches(":focus-visible")) this.reveal(spot, segment);
    }

    /** What a screen reader says of an occurrence: written when it is reached. */
    label(spot, segment) {
      const {phrase} = spot;
      segment.element.setAttribute("aria-label", `${phrase.text}, rank ${phrase.rank}, score ${figure(spot.score)}, `
        + `occurrence ${spot.number} of ${phrase.spots.length}`);
    }

    reveal(spot, segment, pinned = false) {
      this.describe(segment);
      this.card.show(spot, segment, pinned);
      this.light(spot);
    }

    describe(segment) {
      this.described?.element?.removeAttribute("aria-describedby");
      this.described = segment;
      segment?.element.setAttribute("aria-describedby", this.card.element.id);
    }

    hide() {
      this.describe(null);
      this.card.hide();
      this.light(null);
    }

    /** Mark all places of a phrase, in all panels. */
    light(spot) {
      for (const segment of this.marked) {
        segment.element?.classList.remove("is-kin", "is-active");
        segment.name = null;
      }
      const kin = new Set(spot ? this.readings.map((reading) => reading.counterpart(spot.phrase)).filter(Boolean) : []);
      this.marked = new Set([...kin].flatMap((phrase) => phrase.spots).flatMap((each) => each.segments));
      for (const segment of this.marked) {
        segment.element?.classList.add("is-kin");
        if (this.card.spot === spot && spot.segments.includes(segment)) segment.element?.classList.add("is-active");
      }
      this.ranks.mark(kin);
    }

    clicked(event) {
      const segment = event.target.closest(".mv-o")?.segment, row = event.target.closest(".mv-row");
      if (segment) this.pin(segment.spot, segment);
      else if (row) this.stepTo(row.phrase, row);
    }

    pin(spot, segment) {
      clearTimeout(this.coming);
      const again = this.card.pinned && this.card.spot === spot;
      if (again) this.close();
      else this.reveal(spot, segment, true);
    }

    /** From the ranking to the first place of a phrase; again, to the next. */
    stepTo(phrase, row) {
      const {spot, pinned} = this.card;
      this.origin = row;
      const next = pinned && spot.phrase === phrase ? phrase.spots[spot.number % phrase.spots.length] : phrase.spots[0];
      this.go(next);
    }

    /** Scroll to an occurrence, put the focus there and pin its card. The panels share one layout, so all follow. */
    go(spot) {
      const panel = this.panels[this.readings.indexOf(spot.phrase.reading)];
      if (this.shown !== panel.index && narrow()) this.pick(panel.index);
      const segment = panel.segmentOf(spot);
      for (const each of this.panels) for (const block of each.blocks) {
        if (block.from <= spot.from && spot.from < block.to) each.fill(block);
      }
      panel.rove(segment);
      this.scroll(segment);
      this.card.hide();
      this.aim = spot;
      segment.element.focus({preventScroll: true});
      this.label(spot, segment);
      this.reveal(spot, segment, true);
      this.aim = null;
      if (!still()) segment.element.animate([{opacity: 0.2}, {}], {duration: 400, easing: "ease-out"});
    }

    /** What stands over the top of the screen and would hide the text. */
    ceiling() {
      return this.options.ceiling?.() ?? 0;
    }

    /** Bring words to where they and their card can be seen; once more when blocks near them have their true height. */
    scroll(segment, room = 400, again = 3) {
      const box = segment.element.getBoundingClientRect(), top = this.ceiling();
      if (box.top < top + 20 || box.bottom > innerHeight - Math.min(room, innerHeight * 0.6)) {
        scrollBy({top: box.top - Math.max(top + 40, innerHeight * (narrow() ? 0.15 : 0.3)), behavior: "instant"});
      }
      if (!again) return;
      requestAnimationFrame(() => {
        if (document.activeElement !== segment.element) return;
        this.scroll(segment, room, again - 1);
        if (this.card.segment === segment) this.card.place(segment);
      });
    }

    /** The next or previous place of the phrase shown. */
    along(by) {
      const {spots} = this.card.spot.phrase, at = this.card.spot.number - 1;
      this.go(spots[(at + by + spots.length) % spots.length]);
    }

    /** The place nearest to where the overview was clicked. */
    near(phrase, event) {
      const box = event.currentTarget.getBoundingClientRect();
      const at = this.text.length * (event.clientX - box.left) / box.width;
      this.go(phrase.spots.reduce((a, b) => (Math.abs(b.from - at) < Math.abs(a.from - at) ? b : a)));
    }

    close(back = true) {
      const {segment, pinned} = this.card, inside = this.card.element.contains(document.activeElement);
      clearTimeout(this.coming);
      this.hide();
      if (!pinned || !back) return;
      const held = inside || document.activeElement === segment.element;
      if (this.origin?.isConnected && held) this.origin.focus({preventScroll: true});
      else if (inside) segment.element.focus({preventScroll: true});
      this.origin = null;
      this.hide();
    }

    pressed(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const {segment} = event.target, row = event.target.closest(".mv-row");
      const used = segment ? this.inText(event, segment) : row ? this.inList(event, row) : false;
      if (used) event.preventDefault();
    }

    inText(event, segment) {
      const {panel} = segment, all = panel.segments;
      const spot = this.card.spot ?? segment.spot;
      const move = (next) => {
        if (!next) return true;
        panel.fill(next.block);
        this.card.pinned = false;
        this.scroll(next, 60);
        panel.rove(next);
        next.element.focus({preventScroll: true});
        return true;
      };
      switch (event.key) {
        case "ArrowRight": case "ArrowDown": return move(panel.beside(segment, 1));
        case "ArrowLeft": case "ArrowUp": return move(panel.beside(segment, -1));
        case "Home": return move(all[0]);
        case "End": return move(all[all.length - 1].head ? all[all.length - 1] : panel.beside(all[all.length - 1], -1));
        case "Enter": case " ": this.pin(spot, segment); return true;
        case "n": case "N": case "p": case "P":
          if (!this.card.spot) this.reveal(spot, segment);
          this.along(event.key.toLowerCase() === "n" ? 1 : -1);
          return true;
        case "Tab": {
          const inner = this.card.pinned && !event.shiftKey && this.card.element.querySelector("button");
          if (inner) inner.focus();
          return Boolean(inner);
        }
        default: return false;
      }
    }

    inList(event, row) {
      const rows = [...row.closest("ol").querySelectorAll(".mv-row")], at = rows.indexOf(row);
      const next = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1}[event.key];
      if (next == null) return false;
      if (rows[next]) {
        row.tabIndex = -1;
        rows[next].tabIndex = 0;
        rows[next].focus();
        this.light(rows[next].phrase.spots[0]);
      }
      return true;
    }

    /** Tab leaves the card where it was entered. */
    inCard(event) {
      if (event.key !== "Tab") return;
      const buttons = [...this.card.element.querySelectorAll("button")];
      const edge = event.shiftKey ? buttons[0] : buttons[buttons.length - 1];
      if (document.activeElement !== edge) return;
      event.preventDefault();
      this.card.segment.element.focus({preventScroll: true});
      if (!event.shiftKey) this.card.pinned = false;
    }
  }

  /** Show an explanation in an element, in place of what it holds. */
  function mount(root, data, options = {}) {
    const view = new View(root, data, options);
    return {
      set: (next) => view.set(next), update: (next) => view.update(next), destroy: () => view.destroy(),
      get state() { return {...view.state}; },
    };
  }

  return {...pure, mount, make};
})();
if (typeof module === "object" && module.exports) module.exports = MudyView;
