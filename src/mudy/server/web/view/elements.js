// @ts-check
/** Creates elements. Text is only ever added as text nodes. */

import {figure} from "./words.js";

/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */

/**
 * An element with attributes, and children that are nodes or text; null and undefined are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {(Node | string | null | undefined)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function create(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value != null && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child != null) element.append(child);
  return element;
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} attributes
 * @returns {SVGElementTagNameMap[K]}
 */
export function createSvg(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const narrowScreen = () => matchMedia("(max-width: 719px)").matches;

/**
 * A labelled range with its value beside it.
 * @param {{label: string, hint?: string, min: number, max: number, step: number, value: number,
 *   onInput: (value: number) => void}} options
 */
export function slider({label, hint, min, max, step, value, onInput}) {
  const input = create("input", {type: "range", min, max, step, value});
  const output = create("output", {}, figure(input.value));
  input.addEventListener("input", () => {
    output.textContent = figure(input.value);
    onInput(Number(input.value));
  });
  return create("label", {class: "mv-slider", title: hint}, create("span", {}, label), input, output);
}
