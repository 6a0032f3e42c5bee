// A token through the layers: the answer at every depth, what each part added to it, and the steps of one head.

import { html, nothing, svg } from "./lit-html.js";
import { colour, inkOn, theme } from "./colours.js";
import { number, percent, shown } from "./data.js";

/** The panel; nothing where the document has none of its tables. */
export function follow(view) {
  const { document } = view, { stream, token } = view.now;
  if (!stream || !(document.lens.length + document.additions.length + document.steps.length)) return nothing;
  const mine = (one) => one.token === -1 || (one.group === token.group.name && one.token === token.index);
  const lens = document.lens.find(mine), additions = document.additions.find(mine);
  const other = !lens && document.lens.length ? document.lens[document.lens.length - 1] : null;
  return html`<section class="panel" aria-label="follow a token"><h2>Follow ${lens?.token === -1 ? "the answer" : html`<bdi>${shown(token.group.tokens[token.index])}</bdi>`}</h2>
    ${lens ? lensTable(view, lens) : other ? html`<p class="pale">The answer at every depth is known for
      ${document.lens.slice(0, 12).map((one) => html`<button class="link" @click=${() => view.pick({ stream: home(document, one.group), token: `${one.group}.${one.token + 1}` })}><bdi>${shown(document.group(one.group)?.tokens[one.token] ?? "")}</bdi></button> `)}.</p>` : nothing}
    ${additions ? additionBars(view, additions) : nothing}${view.steps ? stepsTable(view) : nothing}</section>`;
}

/** The name of a stream that has the tokens of a group. */
const home = (document, group) => document.streams.find((one) => one.readers.name === group || one.read.name === group)?.name ?? "";

function lensTable(view, lens) {
  const cell = ([text, chance]) => {
    const back = colour("weight", chance ?? 0, view.theme);
    return html`<td .style=${`background:${back};color:${inkOn(back)}`}><bdi>${shown(text, 16)}</bdi>${chance === null ? nothing : html` <small>${percent(chance)}</small>`}</td>`;
  };
  return html`<p class="pale">the answer read off at every depth (logit lens)</p><div class="scroll"><table class="numbers lens" aria-label="logit lens">
    <tbody>${lens.steps.map((step) => html`<tr><th scope="row">${step.name}</th>${step.said.map(cell)}</tr>`)}</tbody></table></div>`;
}

function additionBars(view, found) {
  const most = Math.max(1e-9, ...found.parts.map(([, value]) => Math.abs(value))), colours = theme(view.theme), wide = 120;
  return html`<details><summary>What each part adds to the ${found.measure}: all together ${number(found.total)}</summary><div class="scroll"><table class="numbers" aria-label="what parts add">
    <tbody>${found.parts.map(([name, value]) => html`<tr><th scope="row">${name}</th><td class="number">${number(value)}</td>
      <td><svg width=${2 * wide} height="12" aria-hidden="true">${svg`<line x1=${wide} x2=${wide} y1="0" y2="12" stroke=${colours.edge}></line>
        <rect class=${value < 0 ? "bar minus" : "bar"} x=${value < 0 ? wide * (1 + value / most) : wide} y="1" width=${(wide * Math.abs(value)) / most} height="10"></rect>`}</svg></td></tr>`)}</tbody></table></div></details>`;
}

function stepsTable(view) {
  const { stream, token } = view.now, row = view.head.row(token.index), order = Array.from(row.keys()).sort((a, b) => row[b] - row[a]).slice(0, 20);
  return html`<details><summary>Step by step: q·k → scale → softmax</summary><div class="scroll"><table class="numbers">
    <caption>${view.stepsAbout}</caption><thead><tr><th scope="col">key</th><th scope="col">score</th><th scope="col">weight</th></tr></thead>
    <tbody>${order.map((at) => html`<tr><th scope="row"><bdi>${shown(stream.read.tokens[at])}</bdi></th><td class="number">${Number.isFinite(view.steps[at]) ? number(view.steps[at]) : "may not be read"}</td><td class="number">${percent(row[at])}</td></tr>`)}</tbody></table></div></details>`;
}
