// @ts-check
/** @import {Progress} from "./api.js" */
/** The progress bar and the elapsed time. */

import {announce} from "./messages.js";
import {page} from "./page.js";

let startedAt = 0, timer = 0, task = "";
/** @type {Progress & {at: number} | null} the last line from the service, and when it came */
let last = null;

/** @param {string} what  is done until the service reports its progress */
export function startProgress(what = "Sending") {
  task = what;
  startedAt = performance.now();
  last = null;
  page.progress.hidden = false;
  page.result.setAttribute("aria-busy", "true");
  page.run.disabled = true;
  clearInterval(timer);
  timer = setInterval(draw, 250);
  draw();
  announce(`${what}.`);
}

/** @param {Progress} progress */
export function updateProgress(progress) {
  last = {...progress, at: performance.now()};
  draw();
}

export function stopProgress() {
  clearInterval(timer);
  page.progress.hidden = true;
  page.run.disabled = false;
  page.result.removeAttribute("aria-busy");
}

function draw() {
  const now = performance.now();
  const elapsed = last ? last.elapsed + (now - last.at) / 1000 : 0;
  const expected = last?.state === "working" && last.expected ? last.expected : null;
  const share = expected ? Math.min(0.97, elapsed / expected) : null;
  const seconds = Math.floor(expected ? elapsed : (now - startedAt) / 1000);
  const about = expected ? ` of about ${Math.max(1, Math.round(expected))}` : "";
  page.progressText.textContent = `${words()} · ${seconds}${about} s`;
  page.progressBar.classList.toggle("is-unsure", share == null);
  page.progressBar.style.setProperty("--done", share == null ? "" : `${Math.round(share * 100)}%`);
}

function words() {
  if (last?.state !== "waiting") return last ? "Working" : task;
  return last.ahead ? `Waiting, ${last.ahead.toLocaleString("en")} ahead of you` : "Waiting";
}
