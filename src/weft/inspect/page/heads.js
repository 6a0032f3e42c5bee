// The grid of layers and heads: small pictures, or colours by kind, entropy, reach or effect. A click picks.

import { html, nothing } from "./lit-html.js";
import { SERIES, colour, inkOn, painted, scale, smooth } from "./colours.js";
import { number } from "./data.js";

const pictures = new Map();

/** What heads can be coloured by, where the document knows it. */
export function waysToColour(view) {
  const { stream } = view.now, document = view.document;
  return ["weight", ...(document.kinds.some((one) => one.stream === stream.name) ? ["kind"] : []),
    ...(stream.entropy.length ? ["entropy"] : []), ...(stream.reach.length ? ["reach"] : []),
    ...(document.sweeps.some((one) => one.stream === stream.name) ? ["effect"] : [])];
}

/** Small pictures of every head: the map of the picked token over a grid, else the whole matrix. */
export async function thumbnails(view) {
  const { stream, token } = view.now, place = stream.read.place;
  if (!stream.several) return null;
  const mapped = (place.kind === "grid" || place.kind === "globe") && token.group === stream.readers;
  const key = `${view.number} ${stream.name} ${view.theme} ${mapped ? token.index : ""}`;
  if (!pictures.has(key)) {
    if (pictures.size > 200) pictures.clear();
    pictures.set(key, made(view, stream, token, place, mapped));
  }
  return pictures.get(key);
}

async function made(view, stream, token, place, mapped) {
  const table = scale(mapped ? "heat" : "weight", view.theme), count = stream.of.layers * stream.of.heads;
  const everywhere = mapped ? await stream.everywhere(token.index) : null;
  if (everywhere) {
    const rows = place.rows ?? place.y.length, columns = place.columns ?? place.x.length;
    return everywhere.map((row) => {
      const map = row.subarray(place.first), most = Math.max(1e-9, ...map);
      return smooth(painted(rows, columns, table, (at) => map[at] / most), 40).toDataURL();
    });
  }
  const small = await stream.smallPictures();
  return Array.from({ length: count }, (_, n) => { const one = small.of(n); return painted(small.rows, small.columns, table, (at) => one[at] / 255).toDataURL(); });
}

/** The grid. Its first row and column pick means. */
export function headGrid(view) {
  const { stream, layer, head } = view.now;
  if (!stream || !stream.several) return nothing;
  const { layers, heads } = stream.of, ways = waysToColour(view), by = ways.includes(view.picked.colour) ? view.picked.colour : ways.includes("effect") ? "effect" : "weight";
  const facts = factsOf(view, by), pick = (l, h) => () => view.pick({ layer: l === null ? "" : String(l + 1), head: h === null ? "" : String(h + 1) });
  const chosen = (l, h) => layer === l && head === h;
  const names = stream.rows.length > 0, size = Math.max(20, Math.min(56, Math.floor(285 / heads) - 3));
  return html`<section class="heads" aria-label="heads">
    <h2>${names ? "Parts" : "Heads"}</h2>
    ${ways.length > 1 ? html`<label>colour by <select @change=${(event) => view.pick({ colour: event.target.value })}>${ways.map((way) => html`<option ?selected=${way === by}>${way}</option>`)}</select></label>` : nothing}
    <div class="scroll"><table class="grid">
      <thead><tr><td><button class=${chosen(null, null) ? "mean picked" : "mean"} aria-pressed=${chosen(null, null)} @click=${pick(null, null)}>mean</button></td>
        ${Array.from({ length: heads }, (_, h) => html`<th scope="col"><button class=${chosen(null, h) ? "mean picked" : "mean"} aria-pressed=${chosen(null, h)} title=${`mean of ${stream.columnName(h)} over all`} @click=${pick(null, h)}>${stream.columns[h] ?? h + 1}</button></th>`)}</tr></thead>
      <tbody>${Array.from({ length: layers }, (_, l) => html`<tr><th scope="row"><button class=${chosen(l, null) ? "mean picked" : "mean"} aria-pressed=${chosen(l, null)} title=${`mean of ${stream.rowName(l)}`} @click=${pick(l, null)}>${stream.rows[l] ?? l + 1}</button></th>
        ${Array.from({ length: heads }, (_, h) => { const n = l * heads + h, fact = facts?.[n];
          const name = `${stream.rowName(l)}, ${stream.columnName(h)}${fact ? `: ${fact.words}` : ""}`;
          return html`<td><button class=${chosen(l, h) ? "head picked" : "head"} aria-pressed=${chosen(l, h)} aria-label=${fact ? `${fact.short}, ${name}` : name} title=${name} @click=${pick(l, h)}
            .style=${`width:${size}px;height:${size}px;${fact ? `background:${fact.colour};color:${inkOn(fact.colour)}` : ""}`}>${fact ? fact.short : view.thumbnails ? html`<img alt="" src=${view.thumbnails[n]}>` : nothing}</button></td>`; })}</tr>`)}</tbody>
    </table></div>
    <p class="pale">${facts?.legend ?? (names ? "" : "down: layers, across: heads. Click a number for a mean.")}</p></section>`;
}

function factsOf(view, by) {
  const { stream } = view.now;
  if (by === "weight") return null;
  const values = by === "entropy" ? stream.entropy : by === "reach" ? stream.reach : null;
  if (values) {
    const most = Math.max(1e-9, ...values), unit = by === "entropy" ? "bits" : stream.unit;
    const found = values.map((value) => ({ colour: colour("weight", (0.9 * value) / most, view.theme), short: value >= 100 ? Math.round(value) : value.toFixed(1), words: `${by} ${number(value)} ${unit}` }));
    found.legend = by === "entropy" ? "bits: 0 reads one token alone, more reads many" : `mean distance of what is read, in ${unit}`;
    return found;
  }
  if (by === "kind") {
    const known = view.document.kinds.find((one) => one.stream === stream.name), kinds = [...new Set(known.kinds)].sort();
    const found = known.kinds.map((kind, n) => ({ colour: rgb(kind ? SERIES[kinds.indexOf(kind) % SERIES.length] : "#b0b8c0"), short: kind.slice(0, 3) || "·", words: kind ? `${kind}, ${number(known.scores[n])}` : "no known kind" }));
    found.legend = kinds.filter(Boolean).map((kind) => `${kind.slice(0, 3)} = ${kind}`).join(", ");
    return found;
  }
  const sweep = view.document.sweeps.find((one) => one.stream === stream.name), most = Math.max(1e-9, ...sweep.values.map(Math.abs));
  const found = sweep.values.map((value) => ({ colour: colour("signed", value / most, view.theme), short: value.toFixed(1), words: `${sweep.measure} changes by ${number(value)} ${sweep.change} it` }));
  found.legend = `${sweep.measure}: change ${sweep.change} this head (${number(sweep.before)} before)`;
  return found;
}

const rgb = (text) => `rgb(${[1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)).join()})`;
