// Graph scene: nodes and edges, and lines from the picked node to what it reads.

import { html, nothing, svg } from "./lit-html.js";
import { SERIES, colour, theme } from "./colours.js";
import { shown } from "./data.js";
import { reading, weightInWords } from "./tokens.js";
import { bar } from "./matrix.js";

const NAMED = 60; // nodes up to which all have their names written

/** Nodes at their places; without a stream they alone are drawn. */
export function graph(view) {
  const { document } = view, { stream, token } = view.now, colours = theme(view.theme);
  const group = stream ? stream.read : document.groups.find((one) => one.place.kind === "plane"), { places, edges } = group.place;
  const side = Math.max(280, Math.min(view.width - 24, 680)), margin = 46, x = (at) => margin + places[at][0] * (side - 2 * margin), y = (at) => 24 + places[at][1] * (side - 70);
  const read = stream ? reading(view) : null, most = view.most || 1e-9, at = token?.index;
  const classes = [...new Set(group.said)].sort(), fill = (n) => (group.said.length ? SERIES[classes.indexOf(group.said[n]) % SERIES.length] : SERIES[4]);
  const order = read ? Array.from(read.values.keys()).filter((n) => n !== at && read.values[n] > 0).sort((a, b) => read.values[a] - read.values[b]) : [];
  const loud = new Set([at, ...order.slice(-10), ...(view.pointed ? [view.pointed.index] : [])]), size = places.length > 150 ? 4 : places.length > NAMED ? 6 : 9;
  const named = (n) => places.length <= NAMED || loud.has(n);
  return html`<svg class="scene" role="img" aria-label=${`graph: ${view.inWords}`} width=${side} height=${side} viewBox="0 0 ${side} ${side}" font-family="system-ui, sans-serif" font-size="11">
    <rect width="100%" height="100%" fill=${colours.ground}></rect>
    ${edges.map(([a, b]) => svg`<line x1=${x(a)} y1=${y(a)} x2=${x(b)} y2=${y(b)} stroke=${colours.edge} stroke-width="1"></line>`)}
    ${order.map((n) => svg`<line x1=${x(at)} y1=${y(at)} x2=${x(n)} y2=${y(n)} stroke=${colour("weight", 0.35 + 0.65 * Math.min(1, read.values[n] / most), view.theme)} stroke-width=${1 + 5 * Math.min(1, read.values[n] / most)} stroke-linecap="round"></line>`)}
    ${places.map((_, n) => svg`<circle class="touch" cx=${x(n)} cy=${y(n)} r=${n === at ? size * 1.5 : size} fill=${fill(n)} stroke=${n === at ? colours.picked : colours.ground} stroke-width=${n === at ? 3.5 : 1}
      @click=${() => view.pick({ token: `${group.name}.${n + 1}` })} @pointerenter=${() => view.point({ group, index: n })} @pointerleave=${() => view.point(null)}><title>${shown(group.tokens[n], 60)} ${group.said[n] ?? ""}</title></circle>`)}
    ${places.map((_, n) => (named(n) ? svg`<text x=${x(n)} y=${y(n) - size - 4} text-anchor="middle" fill=${colours.ink} stroke=${colours.ground} stroke-width="3.5" paint-order="stroke" font-weight=${n === at ? 700 : 400} pointer-events="none">${shown(group.tokens[n], 18)}${read && read.values[n] > 0.005 * most && loud.has(n) ? ` ${weightInWords(stream, read.values[n])}` : ""}</text>` : nothing))}
    ${stream ? bar(10, side - 28, 180, most, false, view, stream) : nothing}</svg>
    ${classes.length > 1 && classes.length <= 12 ? html`<p class="legend">${classes.map((name, n) => html`<span><svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="6" fill=${SERIES[n % SERIES.length]}></circle></svg> ${shown(name, 30)}</span> `)}</p>` : nothing}`;
}
