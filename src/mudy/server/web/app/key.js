// @ts-check
/** The API key of the service, kept until the tab is closed. */

const STORED = "mudy-key";

/** @returns {Record<string, string>} */
export function authorization() {
  const key = sessionStorage.getItem(STORED);
  return key ? {Authorization: `Bearer ${key}`} : {};
}

/** @param {string} key */
export const storeKey = (key) => sessionStorage.setItem(STORED, key.trim());
