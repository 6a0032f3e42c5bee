// Globe scene: what is read of each cell of a map, over the field, with coast and degrees; flat, or as a globe to turn.

import { html, nothing, svg } from "./lit-html.js";
import { painted, scale, theme } from "./colours.js";
import { pictureAddress, shown } from "./data.js";
import { reading } from "./tokens.js";
import { heatBar } from "./picture.js";

const RADIANS = Math.PI / 180;

/** The edges between cells along an axis, half way between their middles. */
export function edges(middles) {
  const half = (middles[1] - middles[0]) / 2 || 0.5;
  return [middles[0] - half, ...middles.slice(1).map((value, n) => (value + middles[n]) / 2), middles[middles.length - 1] + (middles.at(-1) - (middles.at(-2) ?? middles.at(-1) - 2 * half)) / 2];
}

/** Degrees in words: 30° N, 60° W. */
export const degrees = (value, up) => `${Math.abs(Math.round(value * 10) / 10)}°${value === 0 ? "" : ` ${up ? (value > 0 ? "N" : "S") : value > 0 ? "E" : "W"}`}`;

export function globe(view) {
  const { stream } = view.now, read = reading(view);
  const group = [read.group, stream.read, stream.readers].find((one) => one.place.kind === "globe"), place = group.place;
  const shownValues = read.group === group ? read.values.subarray(place.first) : null;
  return place.sphere && view.picked.view === "globe" ? round(view, group, shownValues) : flat(view, group, shownValues);
}

function flat(view, group, values) {
  const { place } = group, { stream, token } = view.now, colours = theme(view.theme);
  const ys = edges(place.y), xs = edges(place.x), top = Math.max(ys[0], ys.at(-1)), bottom = Math.min(ys[0], ys.at(-1)), left = Math.min(xs[0], xs.at(-1)), right = Math.max(xs[0], xs.at(-1));
  const margin = 40, space = Math.max(240, Math.min(view.width - 24, 760) - margin), by = Math.min(space / (right - left), 480 / (top - bottom));
  const wide = (right - left) * by, high = (top - bottom) * by, x = (value) => margin + (value - left) * by, y = (value) => 14 + (top - value) * by;
  const down = place.y[0] > place.y.at(-1) || place.y.length === 1, columns = place.x.length, image = view.document.pictures[place.picture];
  const picked = token.group === group && token.index >= place.first ? token.index - place.first : null;
  const find = (event) => {
    const box = event.currentTarget.getBoundingClientRect(), degreeY = top - ((event.clientY - box.top) / box.height) * (top - bottom), degreeX = left + ((event.clientX - box.left) / box.width) * (right - left);
    const near = (middles, value) => middles.reduce((best, one, n) => (Math.abs(one - value) < Math.abs(middles[best] - value) ? n : best), 0);
    return place.first + near(place.y, degreeY) * columns + near(place.x, degreeX);
  };
  const frame = (cell) => { const r = Math.floor(cell / columns), c = cell % columns; return svg`<rect x=${x(Math.min(xs[c], xs[c + 1]))} y=${y(Math.max(ys[r], ys[r + 1]))} width=${Math.abs(xs[c + 1] - xs[c]) * by} height=${Math.abs(ys[r + 1] - ys[r]) * by} fill="none" stroke=${colours.picked} stroke-width="2.5"></rect>`; };
  const step = [1, 2, 5, 10, 15, 30, 45, 60].find((one) => (right - left) / one <= 9) ?? 90, marks = (low, highest) => { const found = []; for (let at = Math.ceil(low / step) * step; at <= highest; at += step) found.push(at); return found; };
  const named = (value, up) => (place.sphere ? degrees(!up && value > 180 ? value - 360 : value, up) : String(Math.round(value * 100) / 100));
  const star = starOf(view, group);
  return html`<svg class="scene" role="img" aria-label=${`map: ${view.inWords}`} width=${wide + margin + 12} height=${high + 72} viewBox="0 0 ${wide + margin + 12} ${high + 72}" font-family="system-ui, sans-serif" font-size="10">
    <rect width="100%" height="100%" fill=${colours.ground}></rect>
    <defs><clipPath id="map"><rect x=${margin} y="14" width=${wide} height=${high}></rect></clipPath></defs>
    ${image ? svg`<image href=${pictureAddress(image)} x=${margin} y="14" width=${wide} height=${high} preserveAspectRatio="none" image-rendering="pixelated"></image>` : nothing}
    ${values && view.picked.overlay !== "off" ? svg`<image href=${cellsOf(values, place, down, view, image)} x=${margin} y="14" width=${wide} height=${high} preserveAspectRatio="none" image-rendering="pixelated"></image>` : nothing}
    <g clip-path="url(#map)" fill="none">${place.coast.map((line) => svg`<polyline points=${line.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ")} stroke=${image ? "#10181f" : colours.ink} stroke-opacity="0.75" stroke-width="0.8"></polyline>`)}</g>
    ${marks(left, right).map((at) => svg`<line x1=${x(at)} x2=${x(at)} y1="14" y2=${14 + high} stroke=${colours.edge} stroke-opacity="0.5"></line><text x=${x(at)} y=${26 + high} text-anchor="middle" fill=${colours.pale}>${named(at, false)}</text>`)}
    ${marks(bottom, top).map((at) => svg`<line y1=${y(at)} y2=${y(at)} x1=${margin} x2=${margin + wide} stroke=${colours.edge} stroke-opacity="0.5"></line><text x=${margin - 4} y=${y(at)} dy="0.35em" text-anchor="end" fill=${colours.pale}>${named(at, true)}</text>`)}
    <rect x=${margin} y="14" width=${wide} height=${high} fill="none" stroke=${colours.edge}></rect>
    ${picked === null ? nothing : frame(picked)}${view.pointed?.group === group ? frame(view.pointed.index - place.first) : nothing}
    ${star ? svg`<circle cx=${x(star[0])} cy=${y(star[1])} r="5" fill="#ffd23f" stroke="#10181f" stroke-width="1.5"></circle>` : nothing}
    <rect class="touch" x=${margin} y="14" width=${wide} height=${high} fill="transparent" @pointermove=${(event) => view.point({ group, index: find(event) })} @pointerleave=${() => view.point(null)} @click=${(event) => view.pick({ token: `${group.name}.${find(event) + 1}` })}></rect>
    ${values ? heatBar(margin, high + 38, 200, 0, view.most || 1e-9, view, stream) : nothing}</svg>`;
}

/** Where the token that reads stands, when it is no cell: its place is written in its name's boxes as x, y. */
function starOf(view) {
  const box = view.now.stream.readers.boxes[0]?.[0];
  return box && view.now.stream.readers.place.kind === "line" ? [box[0], box[1]] : null;
}

function cellsOf(values, place, down, view, image) {
  const columns = place.x.length, rows = place.y.length, most = view.most || 1e-9;
  const level = (at) => { const row = Math.floor(at / columns); return values[(down ? row : rows - 1 - row) * columns + (at % columns)] / most; };
  return painted(rows, columns, scale("heat", view.theme), level, image ? (share) => 0.15 + 0.75 * share : undefined).toDataURL();
}

/** Points around a cell from one corner to the opposite one: its sides are bent on a globe. */
function rim([x0, y0], [x1, y1]) {
  const steps = 8, found = [];
  for (let n = 0; n < steps; n++) found.push([x0 + ((x1 - x0) * n) / steps, y0]);
  for (let n = 0; n < steps; n++) found.push([x1, y0 + ((y1 - y0) * n) / steps]);
  for (let n = 0; n < steps; n++) found.push([x1 - ((x1 - x0) * n) / steps, y1]);
  for (let n = 0; n < steps; n++) found.push([x0, y1 - ((y1 - y0) * n) / steps]);
  return found;
}

/** The globe seen from far away (orthographic); drag or use the sliders to turn it. */
function round(view, group, values) {
  const { place } = group, colours = theme(view.theme), side = Math.max(260, Math.min(view.width - 24, 560)), radius = side / 2 - 6;
  const star = starOf(view), [lon, lat] = (view.picked.turn ?? (star ? star.join() : "0,20")).split(",").map(Number), table = scale("heat", view.theme), most = view.most || 1e-9;
  const seen = (x, y) => {
    const a = (x - lon) * RADIANS, b = y * RADIANS, c = lat * RADIANS, front = Math.sin(c) * Math.sin(b) + Math.cos(c) * Math.cos(b) * Math.cos(a);
    return [side / 2 + radius * Math.cos(b) * Math.sin(a), side / 2 - radius * (Math.cos(c) * Math.sin(b) - Math.sin(c) * Math.cos(b) * Math.cos(a)), front];
  };
  const onLimb = (x, y) => { const by = radius / (Math.hypot(x - side / 2, y - side / 2) || 1); return [side / 2 + (x - side / 2) * by, side / 2 + (y - side / 2) * by]; };
  const ys = edges(place.y).map((one) => Math.max(-90, Math.min(90, one))), xs = edges(place.x), cells = [];
  place.y.forEach((middleY, r) => place.x.forEach((middleX, c) => {
    const around = rim([xs[c], ys[r]], [xs[c + 1], ys[r + 1]]).map(([x, y]) => seen(x, y));
    if (seen(middleX, middleY)[2] <= 0 && !around.some((one) => one[2] > 0)) return;
    const corners = around.map(([x, y, front]) => (front >= 0 ? [x, y] : onLimb(x, y)));
    const at = r * place.x.length + c, share = values ? Math.min(1, values[at] / most) : 0, fill = `rgb(${table[Math.round(255 * share)].join()})`;
    cells.push(svg`<polygon class="touch" points=${corners.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} fill=${fill} stroke=${fill} stroke-width="0.6"
      @click=${() => view.pick({ token: `${group.name}.${place.first + at + 1}` })} @pointerenter=${() => view.point({ group, index: place.first + at })}></polygon>`);
  }));
  const parts = (line) => { const found = []; let run = []; for (const [x, y] of line) { const [a, b, front] = seen(x, y); if (front > 0) run.push(`${a.toFixed(1)},${b.toFixed(1)}`); else { if (run.length > 1) found.push(run); run = []; } } if (run.length > 1) found.push(run); return found; };
  const circle = (make) => { const found = []; for (let at = 0; at <= 360; at += 5) found.push(make(at)); return found; };
  const nets = [...[-60, -30, 0, 30, 60].map((y) => circle((at) => [at, y])), ...[0, 30, 60, 90, 120, 150].map((x) => circle((at) => (at <= 180 ? [x, at - 90] : [x + 180, 270 - at])))];
  let from = null;
  const drag = {
    start(event) { from = [event.clientX, event.clientY, lon, lat]; event.currentTarget.setPointerCapture(event.pointerId); },
    move(event) { if (from) view.pick({ turn: [from[2] - (event.clientX - from[0]) / 3, Math.max(-90, Math.min(90, from[3] + (event.clientY - from[1]) / 3))].map(Math.round).join() }); },
    end() { from = null; },
  };
  const spot = star ? seen(...star) : null, turn = (name, low, high, value, change) => html`<label>${name} <input type="range" min=${low} max=${high} .value=${String(value)} @input=${(event) => view.pick({ turn: change(event.target.value) })}></label>`;
  return html`<svg class="scene turn" role="img" aria-label=${`globe: ${view.inWords}`} width=${side} height=${side + 34} viewBox="0 0 ${side} ${side + 34}" font-family="system-ui, sans-serif" font-size="10"
      @pointerdown=${drag.start} @pointermove=${drag.move} @pointerup=${drag.end}>
    <rect width="100%" height="100%" fill=${colours.ground}></rect><circle cx=${side / 2} cy=${side / 2} r=${radius} fill=${`rgb(${table[0].join()})`} stroke=${colours.edge}></circle>
    ${cells}<g fill="none" stroke=${colours.edge} stroke-opacity="0.45">${nets.flatMap(parts).map((run) => svg`<polyline points=${run.join(" ")}></polyline>`)}</g>
    <g fill="none" stroke="#ffffff" stroke-opacity="0.8">${place.coast.flatMap(parts).map((run) => svg`<polyline points=${run.join(" ")}></polyline>`)}</g>
    ${spot && spot[2] > 0 ? svg`<circle cx=${spot[0]} cy=${spot[1]} r="5" fill="#ffd23f" stroke="#10181f" stroke-width="1.5"></circle>` : nothing}
    ${values ? heatBar(6, side + 4, 200, 0, most, view, view.now.stream) : nothing}</svg>
    <p>${turn("turn", -180, 180, lon, (value) => `${value},${lat}`)} ${turn("tilt", -90, 90, lat, (value) => `${lon},${value}`)}</p>`;
}

export const cellName = (group, index) => shown(group.tokens[index], 60);
