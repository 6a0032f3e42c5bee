// Change and see: answers under changes that were asked for, ablation grids and sweeps that were run.

import { html, nothing } from "./lit-html.js";
import { colour, inkOn } from "./colours.js";
import { number, percent, shown } from "./data.js";

/** The panel; nothing where the document has neither changed answers nor sweeps. */
export function changes(view) {
  const { document } = view;
  if (!(document.changed.length + document.sweeps.length)) return nothing;
  const sweep = document.sweeps.find((one) => one.name === view.picked.sweep) ?? document.sweeps[0];
  return html`<section class="panel" aria-label="change and see"><h2>Change and see</h2>
    ${document.changed.map((one) => changed(one))}
    ${document.sweeps.length > 1 ? html`<label>sweep <select @change=${(event) => view.pick({ sweep: event.target.value })}>${document.sweeps.map((one) => html`<option ?selected=${one === sweep}>${one.name}</option>`)}</select></label>` : nothing}
    ${sweep ? grid(view, sweep) : nothing}
    <p class="pale">This file shows the changes that were computed when it was written. For others: <code>weft look RUN INPUT --set without=LAYER.HEAD</code>, or open it with <code>weft serve</code>.</p></section>`;
}

function changed(one) {
  const said = (answer) => answer.said.slice(0, 5).map(([text, chance]) => html`<li><bdi>${shown(text, 40)}</bdi>${chance === null ? nothing : html` ${percent(chance)}`}</li>`);
  return html`<div class="changed"><h3>${one.changes.join(", ")}</h3><div class="pair"><div><h4>before</h4><ol>${said(one.plain)}</ol></div><div><h4>after</h4><ol>${said(one.answer)}</ol></div></div>
    <p>${one.measure}: ${number(one.before)} → ${number(one.after)} (${one.after >= one.before ? "+" : "−"}${number(Math.abs(one.after - one.before))})</p></div>`;
}

function grid(view, sweep) {
  const most = Math.max(1e-9, ...sweep.values.map(Math.abs)), columns = sweep.columns.length;
  const heads = view.document.streams.find((one) => one.name === sweep.stream);
  const pick = (row, column) => () => heads && view.pick({ stream: heads.name, layer: String(row + 1), head: String(column + 1) });
  return html`<p class="pale">${sweep.name}: change of the ${sweep.measure}, ${number(sweep.before)} before. What lowers it, the answer needs.</p><div class="scroll"><table class="grid sweep" aria-label=${sweep.name}>
    <thead><tr><td></td>${sweep.columns.map((name) => html`<th scope="col"><bdi>${shown(name, 12)}</bdi></th>`)}</tr></thead>
    <tbody>${sweep.rows.map((name, row) => html`<tr><th scope="row"><bdi>${shown(name, 18)}</bdi></th>${sweep.columns.map((_, column) => {
      const value = sweep.values[row * columns + column], back = colour("signed", value / most, view.theme);
      return html`<td><button class="cell" ?disabled=${!heads} title=${`${name}, ${sweep.columns[column]}: ${number(value)}`} .style=${`background:${back};color:${inkOn(back)}`} @click=${pick(row, column)}>${Math.abs(value) < 0.005 ? (value === 0 ? "0" : value.toPrecision(1)) : value.toFixed(2)}</button></td>`;
    })}</tr>`)}</tbody></table></div>`;
}
