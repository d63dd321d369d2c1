// @ts-check
/** @import {PageError} from "./api.js" */
/** Status and error messages. */

import {create} from "../view/elements.js";
import {plural} from "../view/words.js";
import {page} from "./page.js";

/**
 * Announce a message to screen readers.
 * @param {string} words
 */
export function announce(words) {
  page.status.textContent = words;
}

export function clearError() {
  page.notice.hidden = true;
  page.notice.replaceChildren();
}

/**
 * Show an error on the page, with a retry button if a retry can help.
 * @param {PageError} error
 * @param {() => void} retry
 */
export function showError(error, retry = () => {}) {
  const after = error.retryAfter ? ` Try again in ${plural(error.retryAfter, "second")}.` : "";
  const again = error.retry ? create("button", {type: "button", class: "plain"}, "Try again") : null;
  again?.addEventListener("click", retry);
  const details = error.errors.map(({where, message}) => create("li", {}, where ? `${where}: ${message}` : message));
  page.notice.replaceChildren(create("b", {}, error.title), create("span", {}, error.message + after));
  if (again) page.notice.append(again);
  if (details.length) page.notice.append(create("ul", {}, ...details));
  page.notice.hidden = false;
  page.notice.scrollIntoView({block: "nearest"});
}
