// @ts-check
/** @import {ExplanationData} from "../view/types.js" */
/** Requests to the service. */

import {authorization, storeKey} from "./key.js";
import {page} from "./page.js";

const TRY_AGAIN = [408, 429, 500, 502, 503, 504]; // statuses

/** @typedef {{where?: string, message: string}} FieldError */
/** @typedef {{status: number, title?: string, detail?: string, errors?: FieldError[], request_id?: string,
 *   retry_after?: number}} Problem */
/** @typedef {{state: string, elapsed: number, expected?: number, ahead?: number}} Progress */

/** An error message for the user. */
export class PageError extends Error {
  /**
   * @param {string} title
   * @param {string} detail
   * @param {{errors?: FieldError[], retry?: boolean, retryAfter?: number | null}} options
   */
  constructor(title, detail, {errors = [], retry = false, retryAfter = null} = {}) {
    super(detail);
    this.title = title;
    this.errors = errors;
    this.retry = retry;
    this.retryAfter = retryAfter; // seconds
  }
}

const noAnswer = () => new PageError("The service does not respond",
  "It may have stopped, or the connection is down. Your text is still here.", {retry: true});

/** @param {unknown} error */
const networkError = (error) => (error instanceof Error && error.name === "AbortError" ? error : noAnswer());

/** @param {Response} response */
async function errorOf(response) {
  let problem = {};
  try { problem = await response.json(); } catch { /* not JSON: use the status */ }
  return problemError({status: response.status, ...problem}, response.headers.get("Retry-After"));
}

/** @param {Problem} problem @param {string | number | null | undefined} retryAfter */
function problemError(problem, retryAfter) {
  const reference = problem.status === 500 && problem.request_id ? ` (request ${problem.request_id})` : "";
  const detail = problem.detail ?? `The service answered with status ${problem.status}.`;
  return new PageError(problem.title ?? "The request failed", detail + reference,
    {errors: problem.errors ?? [], retry: TRY_AGAIN.includes(problem.status), retryAfter: Number(retryAfter) || null});
}

/**
 * Send a request; if the service requires a key, ask the user for it first.
 * @param {string} path
 * @param {RequestInit & {headers?: Record<string, string>}} options
 */
export async function request(path, options = {}) {
  for (let rejected = false; ; rejected = true) {
    const headers = {...options.headers, ...authorization()};
    let response;
    try {
      response = await fetch(path, {...options, headers});
    } catch (error) {
      throw networkError(error);
    }
    if (response.status !== 401) {
      if (!response.ok) throw await errorOf(response);
      return response;
    }
    await askForKey(rejected && "Authorization" in headers);
  }
}

/** @type {Promise<void> | null} one question at a time */
let keyQuestion = null;

/** @param {boolean} rejected */
function askForKey(rejected) {
  keyQuestion ??= new Promise((resolve, reject) => {
    const dialog = page.keyDialog;
    if (rejected) page.keyMessage.textContent = "The service did not accept that key. Please check it.";
    dialog.returnValue = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      keyQuestion = null;
      if (dialog.returnValue !== "use") {
        reject(new PageError("Key required", "This service requires a key.", {retry: true}));
        return;
      }
      storeKey(page.key.value);
      page.key.value = "";
      resolve();
    }, {once: true});
  });
  return keyQuestion;
}

/**
 * Request an explanation; `onProgress` is called with every progress line.
 * @param {object} body
 * @param {AbortSignal} signal
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<ExplanationData>}
 */
export async function explain(body, signal, onProgress) {
  const response = await request("/v1/explain", {method: "POST", signal, body: JSON.stringify(body),
    headers: {"Content-Type": "application/json", Accept: "application/x-ndjson"}});
  if (!response.body || !response.headers.get("Content-Type")?.includes("ndjson")) return response.json();
  for await (const line of jsonLines(response.body.getReader())) {
    if (line.state === "done") return line.explanation;
    if (line.state === "failed") throw problemError(line.problem, line.problem.retry_after);
    onProgress(line);
  }
  throw noAnswer();
}

/** @typedef {{weights: object, examples: number, helps: boolean, summary: string}} FitResult */

/**
 * Adapt weights to texts with the keyphrases that are wanted.
 * @param {{examples: {text: string, keyphrases: string[]}[], style: string}} body
 * @param {AbortSignal} signal
 * @returns {Promise<FitResult>}
 */
export async function fit(body, signal) {
  const headers = {"Content-Type": "application/json"};
  return (await request("/v1/fit", {method: "POST", signal, body: JSON.stringify(body), headers})).json();
}

/** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
async function* jsonLines(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    let chunk;
    try {
      chunk = await reader.read();
    } catch (error) {
      throw networkError(error);
    }
    rest += decoder.decode(chunk.value ?? new Uint8Array(), {stream: !chunk.done});
    const lines = rest.split("\n");
    rest = chunk.done ? "" : lines.pop() ?? "";
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
    if (chunk.done) return;
  }
}
