// @ts-check
/** The button that cycles through the themes; `data-theme` on the root element selects the colours. */

const THEMES = ["auto", "light", "dark"];

/**
 * @param {HTMLButtonElement} button
 * @param {string} [storageKey]  under which the browser remembers the theme
 */
export function themeButton(button, storageKey) {
  const root = document.documentElement;
  /** @param {string} theme */
  const apply = (theme) => {
    root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  const stored = storageKey ? stringFromStorage(storageKey) : null;
  apply(stored && THEMES.includes(stored) ? stored : "auto");
  button.addEventListener("click", () => {
    apply(THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length]);
    if (!storageKey) return;
    try { localStorage.setItem(storageKey, root.dataset.theme ?? "auto"); } catch { /* no storage: the theme is not remembered */ }
  });
}

/** @param {string} key */
function stringFromStorage(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
