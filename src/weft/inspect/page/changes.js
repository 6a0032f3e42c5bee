// Change and see: answers under changes that were asked for, and sweeps that were run; each of their cells before and after.

import { html, nothing } from "./lit-html.js";
import { colour, inkOn } from "./colours.js";
import { number, percent, shown } from "./data.js";

/** The panel; nothing where the document has neither changed answers nor sweeps. */
export function changes(view) {
  const { document } = view;
  if (!(document.changed.length + document.sweeps.length)) return nothing;
  const sweep = document.sweeps.find((one) => one.name === view.picked.sweep) ?? document.sweeps[0];
  const second = document.sweeps.some((one) => one.name.endsWith("second input"));
  return html`<section class="panel" aria-label="change and see"><h2>Change and see</h2>
    ${document.changed.map((one) => changed(one))}
    ${document.sweeps.length > 1 ? html`<label>sweep <select class="sweeps" @change=${(event) => view.pick({ sweep: event.target.value, cell: "" })}>${document.sweeps.map((one) => html`<option ?selected=${one === sweep}>${one.name}</option>`)}</select></label>` : nothing}
    ${sweep ? grid(view, sweep) : nothing}
    <p class="pale">This file shows the changes that were computed when it was written. ${second ? nothing : html`Patching and steering take a second input: <code>weft look RUN INPUT --beside OTHER</code>. `}For any other change: <code>weft look RUN INPUT --set without=LAYER.HEAD</code>, or open with <code>weft serve</code>.</p></section>`;
}

const answers = (said) => said.map(([text, chance]) => html`<li><bdi>${shown(text, 40)}</bdi>${chance === null ? nothing : html` ${percent(chance)}`}</li>`);
const pair = (before, after) => html`<div class="pair"><div><h4>before</h4><ol>${answers(before)}</ol></div><div><h4>after</h4><ol>${answers(after)}</ol></div></div>`;
const moved = (measure, before, after) => html`<p>${measure}: ${number(before)} → ${number(after)} (${after >= before ? "+" : "−"}${number(Math.abs(after - before))})</p>`;

function changed(one) {
  return html`<div class="changed"><h3>${one.changes.join(", ")}</h3>${pair(one.plain.said.slice(0, 5), one.answer.said.slice(0, 5))}${moved(one.measure, one.before, one.after)}</div>`;
}

/** The picked cell of a sweep: the answer and the measure before and after, and the words that repeat it. */
function cell(view, sweep, [row, column]) {
  const at = row * sweep.columns.length + column;
  if (!sweep.words[at]) return nothing;
  const chance = sweep.chance === null ? null : sweep.chances[at], same = sweep.said[at] === sweep.answer;
  const after = sweep.chance === null ? [[sweep.said[at], null]] : same ? [[sweep.answer, chance]] : [[sweep.said[at], null], [sweep.answer, chance]];
  const of = sweep.name.endsWith("second input") ? html` --set of=<bdi>…</bdi>` : nothing;
  return html`<div class="changed one"><h3><bdi>${shown(sweep.rows[row], 30)}, ${shown(sweep.columns[column], 30)}</bdi> · <code>--set ${sweep.words[at]}</code>${of}</h3>
    ${sweep.chance === null ? nothing : pair([[sweep.answer, sweep.chance]], after)}${moved(sweep.measure, sweep.before, sweep.before + sweep.values[at])}</div>`;
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Arrows go from cell to cell, past places where there is nothing to change; the tab key enters and leaves the grid once. */
function walk(event) {
  const step = STEPS[event.key], at = event.target.closest("td");
  if (!step || !at) return;
  event.preventDefault();
  event.stopPropagation();
  const rows = [...event.currentTarget.tBodies[0].rows];
  let row = rows.indexOf(at.parentElement) + step[0], column = at.cellIndex + step[1];
  for (; rows[row]?.cells[column]; row += step[0], column += step[1]) {
    const next = rows[row].cells[column].querySelector("button");
    if (next) return next.focus();
  }
}

function grid(view, sweep) {
  const most = Math.max(1e-9, ...sweep.values.map(Math.abs)), columns = sweep.columns.length;
  const heads = view.document.streams.find((one) => one.name === sweep.stream), picked = (view.picked.cell ?? "").split(".").map((text) => Number(text) - 1);
  const here = picked.length === 2 && picked[0] >= 0 && picked[0] < sweep.rows.length && picked[1] >= 0 && picked[1] < columns;
  const pick = (row, column) => () => view.pick({ cell: `${row + 1}.${column + 1}`, ...(heads ? { stream: heads.name, layer: String(row + 1), head: String(column + 1) } : {}), ...(sweep.group && sweep.group === view.now.token?.group.name ? { token: `${sweep.group}.${column + 1}` } : {}) });
  const first = sweep.words.findIndex(Boolean), entered = here ? picked[0] * columns + picked[1] : Math.max(0, first);
  return html`<p class="pale">${sweep.name}: change of the ${sweep.measure}, ${number(sweep.before)} before. What lowers it, the answer needs. Click, or arrows and Enter, for before and after.</p><div class="scroll"><table class="grid sweep" aria-label=${sweep.name} @keydown=${walk}>
    <thead><tr><td></td>${sweep.columns.map((name) => html`<th scope="col"><bdi>${shown(name, 12)}</bdi></th>`)}</tr></thead>
    <tbody>${sweep.rows.map((name, row) => html`<tr><th scope="row"><bdi>${shown(name, 18)}</bdi></th>${sweep.columns.map((_, column) => {
      const at = row * columns + column, value = sweep.values[at], back = colour("signed", value / most, view.theme);
      if (sweep.words.length && !sweep.words[at]) return html`<td></td>`;
      return html`<td><button tabindex=${at === entered ? 0 : -1} class=${here && picked[0] === row && picked[1] === column ? "cell picked" : "cell"} title=${`${name}, ${sweep.columns[column]}: ${number(value)}; ${sweep.said[at]}`} .style=${`background:${back};color:${inkOn(back)}`} @click=${pick(row, column)}>${Math.abs(value) < 0.005 ? (value === 0 ? "0" : value.toPrecision(1)) : value.toFixed(2)}</button></td>`;
    })}</tr>`)}</tbody></table></div>${here ? cell(view, sweep, picked) : nothing}`;
}
