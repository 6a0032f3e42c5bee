// A second document beside the first, on one scale, and their difference where both have the same tokens.

import { html, nothing } from "./lit-html.js";
import { documentsIn, number } from "./data.js";

/** Whether two heads can be taken from each other. */
export const alike = (one, other) => one && other && one.queries === other.queries && one.keys === other.keys && one.values.length === other.values.length;

/** Choose another saved page, or how two are compared. */
export function compareBar(views, actions) {
  const second = views[1];
  const take = async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    try { actions.beside(documentsIn(await file.text())[0]); } catch { actions.say(`${file.name} is no page of weft`); }
  };
  return html`<div class="compare"><label class="file">compare with a saved page <input type="file" accept=".html,.json" @change=${take}></label>
    ${second ? html`<span>and <b>${second.document.run || second.document.title}</b></span>
      ${alike(views[0].head, second.head) ? html`<label><input type="checkbox" .checked=${views[0].picked.compare === "difference"} @change=${(event) => actions.pick({ compare: event.target.checked ? "difference" : "" })}> difference</label>` : nothing}
      <button @click=${() => actions.beside(null)}>one alone</button>` : nothing}</div>`;
}

/** How far two heads differ, in words. */
export function distance(one, other) {
  if (!alike(one, other)) return "";
  let sum = 0;
  one.values.forEach((value, at) => { sum += Math.abs(value - other.values[at]); });
  return `half the sum of differences a row (0 alike, 1 nothing in common): ${number(sum / 2 / one.queries)}`;
}
