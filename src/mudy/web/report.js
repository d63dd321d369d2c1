/* Brings a report to life: its data, in #mudy-data, becomes a view in #mudy-view. */
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("mudy-data").textContent);
  MudyView.mount(document.getElementById("mudy-view"), data, {topN: data.top_n});
  const themes = ["auto", "light", "dark"];
  const button = MudyView.make("button", {type: "button", class: "mv-theme"}, "Theme: auto");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % themes.length];
    document.documentElement.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
  });
  document.querySelector("header")?.append(button);
})();
