import js from "@eslint/js";
import globals from "globals";

export default [
  {ignores: ["**/*", "!src/", "!src/mudy/", "!src/mudy/server/", "!src/mudy/server/web/**"]},
  {
    ...js.configs.recommended,
    files: ["src/mudy/server/web/**/*.js"],
    languageOptions: {ecmaVersion: 2024, sourceType: "module", globals: globals.browser},
    linterOptions: {reportUnusedDisableDirectives: "error"},
    rules: {
      ...js.configs.recommended.rules,
      "eqeqeq": ["error", "always", {null: "ignore"}],
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 60],
      "no-restricted-properties": ["error", {property: "innerHTML"}, {property: "outerHTML"}, {property: "insertAdjacentHTML"}],
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": ["error", {destructuring: "all"}],
    },
  },
];
