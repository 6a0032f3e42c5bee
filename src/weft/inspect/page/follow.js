// A token through the layers: the answer at every depth, what each part added to it, and the numbers of one head, step by step.

import { html, nothing, svg } from "./lit-html.js";
import { colour, inkOn, theme } from "./colours.js";
import { number, percent, shown } from "./data.js";

/** The panel; nothing where the document has none of its tables. */
export function follow(view) {
  const { document } = view, { token } = view.now;
  if (!(document.lens.length + document.additions.length + document.steps.length)) return nothing;
  const mine = (one) => one.token === -1 || !token || (one.group === token.group.name && one.token === token.index);
  const lens = document.lens.find(mine), additions = document.additions.find(mine);
  const other = !lens && document.lens.length ? document.lens[document.lens.length - 1] : null;
  return html`<section class="panel" aria-label="follow a token"><h2>Follow ${!token || lens?.token === -1 ? "the answer" : html`<bdi>${shown(token.group.tokens[token.index])}</bdi>`}</h2>
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

const vector = (values, size) => `${values.map(number).join("  ")}${size > values.length ? " …" : ""}`;

/** How the token reads its keys in one head, in numbers: the query, keys and values, scores, softmax, and the sum. */
function stepsTable(view) {
  const { stream, token } = view.now, one = view.steps, name = html`<bdi>${shown(token.group.tokens[token.index])}</bdi>`;
  const scaled = one.factor !== 1, columns = ["key", "k", `score = ${one.formula}`, ...(scaled ? [`× ${number(one.factor)}`] : []), ...(one.bias ? ["bias"] : []), "softmax", "v"];
  const row = (key, at) => html`<tr><th scope="row"><button class="link" @click=${() => view.pick({ token: `${stream.read.name}.${key + 1}` })}><bdi>${shown(stream.read.tokens[key])}</bdi></button></th><td class="number">${vector(one.k[at], one.d)}</td><td class="number">${number(one.scores[at])}</td>
    ${scaled ? html`<td class="number">${number(one.scaled[at])}</td>` : nothing}${one.bias ? html`<td class="number">${number(one.bias[at])}</td>` : nothing}<td class="number">${percent(one.weights[at])}</td><td class="number">${vector(one.v[at], one.e)}</td></tr>`;
  return html`<details class="steps" ?open=${view.picked.panel === "steps"} @toggle=${(event) => { if (event.target.open !== (view.picked.panel === "steps")) view.pick({ panel: event.target.open ? "steps" : "" }); }}>
    <summary>Step by step in ${one.where}: q, k, v → scores → softmax → sum</summary>
    <p>1. The query q of ${name}, ${one.d} numbers: <span class="number">${vector(one.q, one.d)}</span></p>
    <p>2. Its score with the key k of each token${scaled ? html`, times ${number(one.factor)}${one.why ? ` (${one.why})` : ` = 1/√${one.d}`}` : nothing}${one.bias ? ", plus a bias of their places" : nothing}. 3. The softmax makes weights that add up to 1.</p>
    <div class="scroll"><table class="numbers" aria-label="step by step"><thead><tr>${columns.map((words) => html`<th scope="col">${words}</th>`)}</tr></thead><tbody>${one.keys.map(row)}</tbody></table></div>
    ${one.others ? html`<p class="pale">${one.others} more tokens, ${percent(one.rest)} together.</p>` : nothing}${one.closed ? html`<p class="pale">${one.closed} tokens may not be read: their weight is 0.</p>` : nothing}
    <p>4. The sum of weight × v, ${one.e} numbers, is what this head gives: <span class="number">${vector(one.out, one.e)}</span></p></details>`;
}
