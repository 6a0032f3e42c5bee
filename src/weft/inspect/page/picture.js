// Picture scene: a map over a picture, whose parts can be picked. Without a map, the pictures of the document.

import { html, nothing, svg } from "./lit-html.js";
import { painted, scale, smooth, theme } from "./colours.js";
import { pictureAddress, shown } from "./data.js";
import { reading, weightInWords } from "./tokens.js";

const maps = new WeakMap();

/** The picture under what the picked token reads of it. */
export function picture(view) {
  const { stream, token } = view.now, read = reading(view), colours = theme(view.theme);
  const group = [read.group, stream.read, stream.readers].find((one) => one.place.kind === "grid"), place = group.place;
  const image = view.document.pictures[place.picture ?? 0], space = Math.min(view.width - 30, 1040);
  const by = Math.min((view.width > 760 ? 0.5 : 1) * space / image.width, 520 / image.height), wide = image.width * by, high = image.height * by;
  const cell = { wide: wide / place.columns, high: high / place.rows }, mapped = read.group === group, off = place.middle - 0.5;
  const values = mapped ? read.values.subarray(place.first) : null, most = view.most || Math.max(1e-9, ...(values ?? [1]));
  const low = values ? Math.min(...Array.from(values, Math.abs), 0.8 * most) : 0, beside = view.width > 760 && values ? wide + 14 : 0;
  const picked = token.group === group && token.index >= place.first ? token.index - place.first : null;
  const boxes = token.group.boxes[token.index] ?? [];
  const find = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * place.rows - off), column = Math.floor(((event.clientX - box.left) / box.width) * place.columns - off);
    return Math.max(0, Math.min(place.rows - 1, row)) * place.columns + Math.max(0, Math.min(place.columns - 1, column)) + place.first;
  };
  const frame = (at, colour) => svg`<rect x=${(at % place.columns + off) * cell.wide} y=${(Math.floor(at / place.columns) + off) * cell.high} width=${cell.wide} height=${cell.high} fill="none" stroke=${colour} stroke-width="2.5"></rect>`;
  const hovered = view.pointed?.group === group && view.pointed.index >= place.first ? view.pointed.index - place.first : null;
  return html`<svg class="scene" role="img" aria-label=${`${shown(token.group.tokens[token.index])} over ${image.name || "the picture"}: ${view.inWords}`} width=${beside + wide} height=${high + 40} viewBox="0 0 ${beside + wide} ${high + 40}" font-family="system-ui, sans-serif">
    <rect width="100%" height="100%" fill=${colours.ground}></rect>
    <defs><filter id="grey"><feColorMatrix type="saturate" values="0"></feColorMatrix></filter></defs>
    ${beside ? photograph(image, wide, high, false) : nothing}<g transform="translate(${beside} 0)">
    ${photograph(image, wide, high, values && view.picked.overlay !== "off")}
    ${values && view.picked.overlay !== "off" ? svg`<svg width=${wide} height=${high}><image href=${overlay(view.head, read, values, place, low, most)} x=${(off - 1) * cell.wide} y=${(off - 1) * cell.high} width=${wide + 2 * cell.wide} height=${high + 2 * cell.high} preserveAspectRatio="none"></image></svg>` : nothing}
    ${boxes.map(([t, l, b, r]) => svg`<rect x=${l * wide} y=${t * high} width=${(r - l) * wide} height=${(b - t) * high} fill="none" stroke="#fff" stroke-width="2"></rect><rect x=${l * wide - 1.5} y=${t * high - 1.5} width=${(r - l) * wide + 3} height=${(b - t) * high + 3} fill="none" stroke="#0a1a33"></rect>`)}
    ${picked === null ? nothing : frame(picked, colours.picked)}${hovered === null ? nothing : frame(hovered, "#fff")}
    <rect class="touch" width=${wide} height=${high} fill="transparent" @pointermove=${(event) => view.point({ group, index: find(event) })} @pointerleave=${() => view.point(null)}
      @click=${(event) => view.pick({ token: `${group.name}.${find(event) + 1}` })}></rect>
    ${values ? heatBar(0, high + 12, Math.min(wide, 220), low, most, view, stream) : nothing}</g></svg>`;
}

const photograph = (image, wide, high, grey) => svg`<image href=${pictureAddress(image)} width=${wide} height=${high} preserveAspectRatio="none"
  image-rendering=${image.width < 64 ? "pixelated" : "auto"} filter=${grey ? "url(#grey)" : "none"}></image>`;

/** A map with a border of one part like its edge: parts whose middles are off those of their squares reach to all edges. */
function overlay(head, read, values, place, low, most) {
  if (!maps.has(head)) maps.set(head, new Map());
  const known = maps.get(head), key = `${read.reads} ${read.group.name} ${most} ${values.byteOffset} ${values.reduce((a, b) => a + b, 0)}`;
  if (!known.has(key)) {
    const wide = place.columns + 2, within = (at, most) => Math.max(0, Math.min(most - 1, at - 1));
    const of = (at) => within(Math.floor(at / wide), place.rows) * place.columns + within(at % wide, place.columns);
    const small = painted(place.rows + 2, wide, scale("heat", "light"), (at) => (Math.abs(values[of(at)]) - low) / Math.max(1e-9, most - low), (share) => 0.5 + 0.3 * share);
    known.set(key, smooth(small, 360).toDataURL());
  }
  return known.get(key);
}

/** The scale of heat, from a low number to the largest. */
export function heatBar(x, y, width, low, most, view, stream) {
  const table = scale("heat", "light"), steps = 24, colours = theme(view.theme);
  return svg`${Array.from({ length: steps }, (_, n) => svg`<rect x=${x + (n * width) / steps} y=${y} width=${width / steps + 0.5} height="9" fill=${`rgb(${table[Math.round((255 * n) / (steps - 1))].join()})`}></rect>`)}
    <text x=${x} y=${y + 21} font-size="10" fill=${colours.pale}>${weightInWords(stream, low)}</text>
    <text x=${x + width} y=${y + 21} font-size="10" text-anchor="end" fill=${colours.pale}>${weightInWords(stream, most)}</text>`;
}

/** Pictures as they are, of a look that has no map. */
export function still(view) {
  return html`${view.document.pictures.map((one) => html`<figure><img class="still" alt=${one.name || view.document.about} src=${pictureAddress(one)} width=${one.width} height=${one.height}></figure>`)}`;
}
