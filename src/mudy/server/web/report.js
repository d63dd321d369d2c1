// @ts-check
/** Starts a report: shows the data of #mudy-data as a view in #mudy-view. */

import {create} from "./view/elements.js";
import {themeButton} from "./view/theme.js";
import {View} from "./view/view.js";

const root = document.getElementById("mudy-view"), data = document.getElementById("mudy-data");
if (root && data) new View(root, JSON.parse(data.textContent));
const theme = create("button", {type: "button", class: "mv-theme"});
themeButton(theme);
document.querySelector("header")?.append(theme);
