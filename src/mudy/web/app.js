/* The page: takes a text, asks the service, and shows the answer with MudyView. */
(() => {
  "use strict";
  const {make, figure, plural, nameOf, movable, reranked, squeeze} = MudyView;
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  const DEFAULTS = {method: "mudy", compare: "", top: 10, lambda: null, kappa: null};
  const ONCE_MOVED = {lambda: "Moves the ranking at once.", kappa: "Asks the model again."};
  let settings = {...DEFAULTS}; // what the address holds
  let service = null, methods = [];
  let shown = null; // what the view shows: {text, source, gold, methods}
  let view = null;
  let source = null; // the name of the file that the text came from
  let known = {subject: null, places: [], methods: new Map()}; // answers for the text at hand
  let running = null;
  const asked = new Set(); // methods that must be asked again when lambda moves

  // --- Settings and the address ------------------------------------------------------------------------------------

  const limited = (value, {min, max}) => Math.min(Number(max), Math.max(Number(min), value));

  function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = (name) => {
      const value = Number.parseFloat(given.get(name));
      return Number.isFinite(value) ? limited(value, $(name)) : DEFAULTS[name];
    };
    const offered = methods.filter((each) => each.available).map((each) => each.name);
    const usable = (name) => (offered.includes(name) ? name : null);
    const method = usable(given.get("method")) ?? usable(service.default_method) ?? offered[0];
    const compare = usable(given.get("compare")) ?? "";
    settings = {method, compare: compare === method ? "" : compare, top: Math.round(number("top")),
      lambda: number("lambda"), kappa: number("kappa")};
  }

  function writeAddress() {
    const standard = {...DEFAULTS, method: service?.default_method ?? DEFAULTS.method};
    const changed = Object.entries(settings).filter(([name, value]) => value !== standard[name] && value != null);
    const hash = new URLSearchParams(changed).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  const wanted = () => [...new Set([settings.compare, settings.method].filter(Boolean))];
  const info = (name) => methods.find((method) => method.name === name);
  const weighs = (name) => "lambda_" in (info(name)?.settings ?? {}) && "kappa" in info(name).settings;

  /** What the service or the method says of a setting: as used in the answer, else as the default. */
  function recommended(name) {
    const method = wanted().find(weighs);
    return known.methods.get(keyOf(method, {}))?.settings[name] ?? info(method)?.settings[name] ?? 0;
  }

  function sentSettings(name) {
    if (!weighs(name)) return {};
    return {...(settings.kappa == null ? {} : {kappa: settings.kappa}),
      ...(settings.lambda != null && asked.has(name) ? {lambda_: settings.lambda} : {})};
  }

  const keyOf = (name, sent = sentSettings(name)) => JSON.stringify([name, sent]);

  function showSettings() {
    $("method").value = settings.method;
    $("compare").value = settings.compare;
    for (const name of ["method", "compare"]) $(name).title = info(settings[name])?.description ?? "";
    for (const option of $("compare").options) {
      option.disabled = option.value === settings.method || option.dataset.off === "";
    }
    $("top").value = settings.top;
    $("top-said").textContent = settings.top;
    for (const element of document.querySelectorAll(".of-mudy")) element.hidden = !wanted().some(weighs);
    const settled = wanted().some((name) => weighs(name) && known.methods.has(keyOf(name, {})));
    const descriptions = info(wanted().find(weighs))?.descriptions ?? {};
    for (const [name, setting] of [["lambda", "lambda_"], ["kappa", "kappa"]]) {
      $(name).closest("label").title = `${descriptions[setting] ?? ""} ${ONCE_MOVED[name]}`.trim();
      const value = settings[name] ?? recommended(setting);
      $(name).value = value;
      $(`${name}-said`).textContent = settings[name] == null && !settled ? "auto" : figure(value);
    }
    $("reset").disabled = settings.lambda == null && settings.kappa == null;
  }

  /** A new setting: into the address, onto the page, and to the view or the service, as it needs. */
  function choose(next, {ask = false} = {}) {
    settings = {...settings, ...next};
    if (settings.compare === settings.method) settings.compare = "";
    writeAddress();
    showSettings();
    view?.set({topN: settings.top, lambda: lambdaInForce()});
    if (ask && shown && $("desk").hidden) soon(run);
  }

  const lambdaInForce = () => settings.lambda ?? shown?.methods.find(movable)?.settings.lambda_ ?? null;

  let waiting = 0;
  function soon(act) {
    clearTimeout(waiting);
    waiting = setTimeout(act, 350);
  }

  // --- Asking the service ------------------------------------------------------------------------------------------

  /** What went wrong, for people. */
  class Trouble extends Error {
    constructor(title, detail, {errors = [], retry = false, after = null} = {}) {
      super(detail);
      Object.assign(this, {title, errors, retry, after});
    }
  }

  const gone = () => new Trouble("The service does not answer",
    "It may have been stopped, or the connection is down. Your text is still here.", {retry: true});

  async function trouble(response) {
    let problem = {};
    try { problem = await response.json(); } catch { /* not ours: the status must do */ }
    return ofProblem({status: response.status, ...problem}, response.headers.get("Retry-After"));
  }

  function ofProblem(problem, after = null) {
    const busy = [408, 429, 500, 502, 503, 504].includes(problem.status);
    const number = problem.request_id ? ` (request ${problem.request_id})` : "";
    const detail = problem.detail ?? `The service answered with status ${problem.status}.`;
    return new Trouble(problem.title ?? "That did not work", detail + (problem.status === 500 ? number : ""),
      {errors: problem.errors ?? [], retry: busy, after: Number(after) || null});
  }

  /** Ask an address of the service; where it wants a key, ask for the key first. */
  async function ask(path, options = {}) {
    for (let wrong = false; ; wrong = true) {
      const key = sessionStorage.getItem("mudy-key");
      const headers = {...options.headers, ...(key ? {Authorization: `Bearer ${key}`} : {})};
      let response;
      try {
        response = await fetch(path, {...options, headers});
      } catch (error) {
        throw error.name === "AbortError" ? error : gone();
      }
      if (response.status !== 401) {
        if (!response.ok) throw await trouble(response);
        return response;
      }
      await askKey(wrong && key);
    }
  }

  let keyWanted = null; // one question at a time
  function askKey(wrong) {
    keyWanted ??= new Promise((resolve, reject) => {
      const dialog = $("key-dialog");
      if (wrong) $("key-said").textContent = "The service did not accept that key. Please check it.";
      dialog.returnValue = "";
      dialog.showModal();
      dialog.addEventListener("close", () => {
        keyWanted = null;
        if (dialog.returnValue !== "use") {
          reject(new Trouble("A key is needed", "Without a key this service does not answer.", {retry: true}));
          return;
        }
        sessionStorage.setItem("mudy-key", $("key").value.trim());
        $("key").value = "";
        resolve();
      }, {once: true});
    });
    return keyWanted;
  }

  /** Ask for an explanation; `tell` hears how it goes. */
  async function explain(body, signal, tell) {
    const response = await ask("/v1/explain", {method: "POST", signal, body: JSON.stringify(body),
      headers: {"Content-Type": "application/json", Accept: "application/x-ndjson"}});
    if (!response.headers.get("Content-Type")?.includes("ndjson")) return response.json();
    for await (const line of lines(response.body.getReader())) {
      if (line.state === "done") return line.explanation;
      if (line.state === "failed") throw ofProblem(line.problem, line.problem.retry_after);
      tell(line);
    }
    throw gone();
  }

  async function* lines(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      let piece;
      try {
        piece = await reader.read();
      } catch (error) {
        throw error.name === "AbortError" ? error : gone();
      }
      rest += decoder.decode(piece.value ?? new Uint8Array(), {stream: !piece.done});
      const whole = rest.split("\n");
      rest = piece.done ? "" : whole.pop();
      for (const line of whole) if (line.trim()) yield JSON.parse(line);
      if (piece.done) return;
    }
  }

  // --- A run -------------------------------------------------------------------------------------------------------

  const goldPhrases = () => $("gold").value.split("\n").map((phrase) => phrase.trim()).filter(Boolean);

  /** A text as it can be sent: half an emoji, cut by whoever copied it, is a character of its own. */
  const wellFormed = (text) => text.toWellFormed?.() ?? text;

  async function run() {
    clearTimeout(waiting);
    running?.abort();
    const text = wellFormed($("text").value), gold = goldPhrases(), names = wanted();
    const wrong = unfit(text);
    if (wrong) { say(wrong); return; }
    const subject = JSON.stringify([text, gold]);
    if (known.subject !== subject) known = {subject, places: [], methods: new Map()};
    const book = known, missing = names.filter((name) => !book.methods.has(keyOf(name)));
    running = new AbortController();
    const {signal} = running;
    say(null);
    try {
      if (missing.length) {
        begin();
        const keys = missing.map((name) => keyOf(name));
        const sent = missing.map((name) => [name, sentSettings(name)]).filter(([, own]) => Object.keys(own).length);
        const body = {text, methods: missing, settings: Object.fromEntries(sent), gold, top_n: null};
        const found = await explain(body, signal, progress);
        found.methods.forEach((method, index) => book.methods.set(keys[index], method));
        book.places = found.gold;
      }
      if (signal.aborted) return;
      show({text, source, gold: book.places, methods: names.map((name) => book.methods.get(keyOf(name)))});
    } catch (error) {
      if (error.name === "AbortError") announce("Cancelled.");
      else if (error instanceof Trouble) say(error);
      else throw error;
    } finally {
      if (running?.signal === signal) end();
    }
  }

  function unfit(text) {
    if (!text.trim()) return new Trouble("There is no text yet", "Paste one, choose a file, or take a sample.");
    const most = service?.limits.characters, length = characters(text);
    if (most && length > most) {
      return new Trouble("The text is too long", `It has ${length.toLocaleString("en")} characters; this service takes `
        + `${most.toLocaleString("en")}. Shorten it, or run one part at a time.`);
    }
    return null;
  }

  let started = 0, clock = 0, heard = null;

  function begin() {
    started = performance.now();
    heard = null;
    $("progress").hidden = false;
    $("result").setAttribute("aria-busy", "true");
    $("run").disabled = true;
    clearInterval(clock);
    clock = setInterval(tick, 250);
    tick();
    announce("Working.");
  }

  function progress(line) {
    heard = {...line, at: performance.now()};
    tick();
  }

  function tick() {
    const seconds = (performance.now() - started) / 1000;
    const passed = heard ? heard.elapsed + (performance.now() - heard.at) / 1000 : 0;
    const share = heard?.state === "working" && heard.expected ? Math.min(0.97, passed / heard.expected) : null;
    const about = share == null ? "" : ` of about ${Math.max(1, Math.round(heard.expected))}`;
    const ahead = heard?.ahead ? `Waiting, ${heard.ahead.toLocaleString("en")} before you` : "Waiting";
    const words = heard?.state === "waiting" ? ahead : heard ? "Working" : "Sending";
    $("progress-said").textContent = `${words} · ${Math.floor(share == null ? seconds : passed)}${about} s`;
    $("progress-bar").classList.toggle("is-unsure", share == null);
    $("progress-bar").style.setProperty("--done", share == null ? "" : `${Math.round(share * 100)}%`);
  }

  function end() {
    clearInterval(clock);
    running = null;
    $("progress").hidden = true;
    $("run").disabled = false;
    $("result").removeAttribute("aria-busy");
  }

  function show(data) {
    const away = $("desk").contains(document.activeElement);
    end();
    shown = data;
    for (const method of data.methods) if (weighs(method.method) && !movable(method)) asked.add(method.method);
    $("desk").hidden = true;
    $("result").hidden = false;
    if (view) view.update(data);
    else view = MudyView.mount($("view"), data, {topN: settings.top, controls: false, ceiling});
    showSettings();
    view.set({topN: settings.top, lambda: lambdaInForce()});
    if (away) $("result-title").focus({preventScroll: true});
    const first = data.methods[data.methods.length - 1].keyphrases;
    announce(first.length ? `${plural(first.length, "phrase")} found.` : "No phrases were found.");
    if (!sticks()) $("result").scrollIntoView();
  }

  /** Where the bar ends that stands over the text. */
  const ceiling = () => (sticks() ? $("bar").getBoundingClientRect().bottom : 0);
  const sticks = () => getComputedStyle($("bar")).position === "sticky";

  function edit() {
    $("desk").hidden = false;
    $("result").hidden = true;
    $("text").focus();
  }

  // --- Words to the reader -----------------------------------------------------------------------------------------

  function announce(words) {
    $("status").textContent = words;
  }

  /** Show a trouble in place, with what can be done; null takes it away. */
  function say(problem) {
    const notice = $("notice");
    notice.hidden = !problem;
    if (!problem) return notice.replaceChildren();
    const after = problem.after ? ` Try again in ${plural(problem.after, "second")}.` : "";
    const again = problem.retry ? make("button", {type: "button", class: "plain"}, "Try again") : null;
    again?.addEventListener("click", () => (service ? run() : start()));
    notice.replaceChildren(make("b", {}, problem.title), make("span", {}, problem.message + after),
      ...[again, problem.errors.length ? make("ul", {}, ...problem.errors.map(({where, message}) => (
        make("li", {}, where ? `${where}: ${message}` : message)))) : null].filter(Boolean));
    notice.scrollIntoView({block: "nearest"});
  }

  const characters = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

  function measure() {
    const text = $("text").value, most = service?.limits.characters, length = characters(text);
    const words = text.match(/\S+/g)?.length ?? 0;
    $("meter-said").textContent = `${plural(words, "word")} · ${length.toLocaleString("en")}`
      + (most ? ` of at most ${most.toLocaleString("en")} characters` : " characters");
    $("meter").classList.toggle("is-over", Boolean(most) && length > most);
    $("meter-bar").style.setProperty("--full", most ? `${Math.min(100, 100 * length / most)}%` : "0");
  }

  function take(text, name = null) {
    $("text").value = text;
    source = name;
    measure();
    if ($("desk").hidden) edit();
    say(null);
  }

  // --- Files -------------------------------------------------------------------------------------------------------

  const PLAIN = [".txt", ".text", ".md", ".markdown"], WEB = [".html", ".htm", ".xhtml"];
  const ending = (name) => /\.[^.]+$/.exec(name.toLowerCase())?.[0] ?? "";

  async function open(file) {
    const kind = ending(file.name), most = service?.limits.body_bytes;
    const readers = service?.readers ?? [];
    try {
      if (most && file.size > most) {
        throw new Trouble("The file is too large", `This service takes at most ${Math.floor(most / 1000)} KB.`);
      }
      if (PLAIN.includes(kind)) take(decoded(await file.arrayBuffer()), file.name);
      else if (readers.includes(kind)) {
        announce(`Reading ${file.name}.`);
        const response = await ask(`/v1/read?name=${encodeURIComponent(file.name)}`, {
          method: "POST", body: file, headers: {"Content-Type": "application/octet-stream"},
        });
        take((await response.json()).text, file.name);
      } else if (WEB.includes(kind)) take(ofPage(decoded(await file.arrayBuffer())), file.name);
      else if (file.type.startsWith("text/")) take(decoded(await file.arrayBuffer()), file.name);
      else {
        const kinds = [...new Set([".txt", ".md", ".html", ...readers])].join(", ");
        throw new Trouble("This file cannot be read here",
          `${file.name} is not a kind of file that this service reads: ${kinds}. You can paste its text instead.`);
      }
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      if ($("desk").hidden) edit();
      say(error);
    }
  }

  /** Bytes as text: by their mark, else UTF-8, else what Windows wrote. */
  function decoded(buffer) {
    const [a, b] = new Uint8Array(buffer);
    if (a === 0xff && b === 0xfe) return new TextDecoder("utf-16le").decode(buffer);
    if (a === 0xfe && b === 0xff) return new TextDecoder("utf-16be").decode(buffer);
    try {
      return new TextDecoder("utf-8", {fatal: true}).decode(buffer);
    } catch {
      return new TextDecoder("windows-1252").decode(buffer);
    }
  }

  const SILENT = /^(BUTTON|HEAD|IFRAME|NAV|NOSCRIPT|SCRIPT|SELECT|STYLE|SVG|TEMPLATE)$/;
  const APART = /^(ARTICLE|ASIDE|BLOCKQUOTE|DD|DIV|DT|FIG.*|FOOTER|H\d|HEADER|LI|MAIN|[OU]L|P|PRE|SECTION|TABLE|TR)$/;

  /** The text of a web page. It is parsed without running or fetching anything. */
  function ofPage(html) {
    let text = "";
    const walk = (node) => {
      for (const child of node.childNodes) {
        const name = child.nodeName.toUpperCase();
        if (child.nodeType === Node.TEXT_NODE) text += child.data.replace(/\s+/g, " ");
        else if (name === "BR") text += "\n";
        else if (child.nodeType === Node.ELEMENT_NODE && !SILENT.test(name)) {
          const apart = APART.test(name) ? (name === "LI" || name === "TR" ? "\n" : "\n\n") : "";
          text += apart;
          walk(child);
          text += name === "TD" || name === "TH" ? " " : apart;
        }
      }
    };
    walk(new DOMParser().parseFromString(html, "text/html").body);
    return text.replace(/[^\S\n]+/g, " ").replace(/ ?\n ?/g, "\n").replace(/\n{3,}/g, "\n\n").trim();
  }

  // --- Taking the answer away --------------------------------------------------------------------------------------

  /** What is shown, as the service would say it for these settings. */
  function shownData() {
    const {text, ...found} = reranked(shown, {lambda: settings.lambda, topN: settings.top});
    return found;
  }

  /** A cell for a spreadsheet: quoted, and never a formula. */
  function cell(value) {
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r\n|＝＋－＠]/.test(value) ? `'${value}` : value;
    return `"${text.replaceAll('"', '""')}"`;
  }

  function csv() {
    const rows = shownData().methods.flatMap((method) => method.keyphrases.map((keyphrase) => [
      method.method, keyphrase.rank, keyphrase.text, keyphrase.score, keyphrase.occurrences.length,
      keyphrase.occurrences[0].start, keyphrase.occurrences[0].end, keyphrase.variants.join("; ")]));
    const head = ["method", "rank", "phrase", "score", "occurrences", "start", "end", "variants"];
    return "\ufeff" + [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  }

  const json = () => JSON.stringify(shownData(), null, 2);

  function download(content, type, kind) {
    const stem = (source ?? "keyphrases").replace(/\.[^.]+$/, "");
    const link = make("a", {href: URL.createObjectURL(new Blob([content], {type})), download: `${stem}.${kind}`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(json());
    } catch { // no clipboard without https: the old way
      const field = make("textarea", {class: "unseen"});
      field.value = json();
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    announce("Copied.");
    $("copy").textContent = "Copied";
    setTimeout(() => { $("copy").textContent = "Copy JSON"; }, 1500);
  }

  // --- Beginning ---------------------------------------------------------------------------------------------------

  const SPEEDS = {exact: "Every phrase is scored in full precision.",
    fast: "8-bit arithmetic, and attention is pulled only for phrases that lead without it: sooner, a little less exact."};
  const ASKS = {backbone: "With the language model", encoder: "With the sentence encoder", chat: "With a chat model",
    none: "Without a model"};

  /** The methods, grouped by what they ask; those that cannot be used here say why. */
  function offer(select, first) {
    const groups = Object.entries(ASKS).map(([asks, label]) => {
      const group = make("optgroup", {label});
      for (const method of methods.filter((each) => (each.asks ?? "none") === asks)) {
        const off = !method.available, why = asks === "chat" ? "no chat model here" : "not available here";
        group.append(make("option", {value: method.name, disabled: off, "data-off": off, title: method.description},
          nameOf(method.name) + (off ? ` – ${why}` : "")));
      }
      return group;
    });
    select.replaceChildren(...groups.filter((group) => group.children.length));
    if (first) select.prepend(make("option", {value: ""}, first));
  }

  async function start() {
    say(null);
    try {
      const read = async (path) => (await ask(path)).json();
      [service, {methods}] = await Promise.all([read("/v1/service"), read("/v1/methods")]);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      say(error);
      return;
    }
    $("service").textContent = `${service.model} · speed: ${service.speed} · version ${service.version}`;
    $("service").title = SPEEDS[service.speed] ?? "";
    $("file").accept = [...new Set([...PLAIN, ...WEB, ...service.readers])].join(",");
    offer($("method"), null);
    offer($("compare"), "nothing");
    readAddress();
    showSettings();
    measure();
    root.dataset.ready = "";
  }

  const THEMES = ["auto", "light", "dark"];
  function theme(next) {
    root.dataset.theme = next;
    $("theme").textContent = `Theme: ${next}`;
    try { localStorage.setItem("mudy-theme", next); } catch { /* a page without storage forgets it */ }
  }

  function listen() {
    const on = (id, name, act) => $(id).addEventListener(name, act);
    on("bar", "submit", (event) => { event.preventDefault(); run(); });
    on("method", "change", () => choose({method: $("method").value}, {ask: true}));
    on("compare", "change", () => choose({compare: $("compare").value}, {ask: true}));
    on("top", "input", () => choose({top: Number($("top").value)}));
    on("lambda", "input", () => choose({lambda: same("lambda", "lambda_")}));
    on("lambda", "change", () => { if (wanted().some((name) => asked.has(name))) choose({}, {ask: true}); });
    on("kappa", "input", () => { $("kappa-said").textContent = figure($("kappa").value); });
    on("kappa", "change", () => choose({kappa: same("kappa", "kappa")}, {ask: true}));
    on("reset", "click", () => { choose({lambda: null, kappa: null}, {ask: true}); $("lambda").focus(); });
    on("cancel", "click", () => { running?.abort(); end(); $("run").focus(); });
    on("edit", "click", edit);
    on("copy", "click", copy);
    on("json", "click", () => download(json(), "application/json", "json"));
    on("csv", "click", () => download(csv(), "text/csv;charset=utf-8", "csv"));
    on("choose", "click", () => $("file").click());
    on("file", "change", () => { if ($("file").files[0]) open($("file").files[0]); $("file").value = ""; });
    on("text", "input", () => { source = null; measure(); });
    on("theme", "click", () => theme(THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length]));
    on("key-cancel", "click", () => $("key-dialog").close(""));
    for (const {content, dataset} of document.querySelectorAll(".sample")) {
      const button = make("button", {type: "button", class: "plain"}, dataset.title);
      const paragraphs = [dataset.title, ...Array.from(content.children, (each) => squeeze(each.textContent))];
      button.addEventListener("click", () => { take(paragraphs.join("\n\n")); run(); });
      $("samples").append(button);
    }
    addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); });
    addEventListener("hashchange", () => {
      if (!service) return;
      readAddress();
      choose({}, {ask: true});
    });
    const sheet = document.querySelector(".sheet");
    addEventListener("dragover", (event) => { event.preventDefault(); sheet.classList.add("is-over"); });
    addEventListener("dragleave", () => sheet.classList.remove("is-over"));
    addEventListener("drop", (event) => {
      sheet.classList.remove("is-over");
      const [file] = event.dataTransfer.files;
      if (!file) return;
      event.preventDefault();
      open(file);
    });
    new ResizeObserver(() => {
      const height = sticks() ? $("bar").offsetHeight : 0;
      root.style.setProperty("--mv-top", `${height}px`);
      root.style.scrollPaddingTop = `${height + 8}px`;
    }).observe($("bar"));
  }

  /** A slider's value, or null where it stands at what is recommended. */
  function same(id, setting) {
    const value = Number($(id).value);
    return value === recommended(setting) ? null : value;
  }

  try { theme(localStorage.getItem("mudy-theme") ?? "auto"); } catch { theme("auto"); }
  listen();
  start();
})();
