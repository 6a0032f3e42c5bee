// The numbers of what is shown, as tables.

import { html, nothing } from "./lit-html.js";
import { shown } from "./data.js";
import { reading, readsBy, weightInWords } from "./tokens.js";

const FIRST = 12;

/** What the picked token reads, or what reads it, the most first. */
export function readingTable(view) {
  const { stream, token } = view.now;
  if (!stream) return nothing;
  const { reads, group, values } = reading(view), order = Array.from(values.keys()).filter((at) => values[at]).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const name = shown(token.group.tokens[token.index]), most = Math.abs(values[order[0]] ?? 1) || 1;
  const row = (at) => html`<tr><th scope="row"><button class="link" @click=${() => view.pick({ token: `${group.name}.${at + 1}` })}><bdi>${shown(group.tokens[at])}</bdi></button>${group.tokens.length > 1 && group.place.kind !== "grid" ? html` <small class="pale">${at + 1}</small>` : nothing}</th><td class="number">${weightInWords(stream, values[at])}</td>
    <td><svg width="90" height="10" aria-hidden="true"><rect class=${values[at] < 0 ? "bar minus" : "bar"} width=${(90 * Math.abs(values[at])) / most} height="10"></rect></svg></td></tr>`;
  const verb = stream.by === "cosine" ? "is near to" : readsBy(stream) ? (reads ? "reads" : "is read by") : (reads ? "depends on" : "counts for");
  const caption = html`<caption><bdi>${name}</bdi> ${verb} (${view.inWords})</caption>`;
  return html`<table class="numbers">${caption}<tbody>${order.slice(0, FIRST).map(row)}</tbody></table>
    ${order.length > FIRST ? html`<details><summary>${order.length - FIRST} more</summary><div class="scroll tall"><table class="numbers"><tbody>${order.slice(FIRST, 2000).map(row)}</tbody></table></div></details>` : nothing}`;
}

/** The tables of a document, and the same in words. */
export function documentTables(document) {
  return html`${document.tables.map((one) => html`<section><h2>${one.heading}</h2><div class="scroll"><table class="numbers"><thead><tr>${one.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${one.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div></section>`)}
    <details class="words" ?open=${!document.streams.length}><summary>In words and numbers</summary><pre tabindex="0">${document.text}</pre></details>`;
}
