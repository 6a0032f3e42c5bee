// Text scene: a matrix of who reads whom, or lines between two columns. Tree scene: the tree above the matrix.

import { html, nothing, svg } from "./lit-html.js";
import { colour, painted, scale, theme } from "./colours.js";
import { number, shown } from "./data.js";
import { weightInWords } from "./tokens.js";

const MOST_SIDE = 2000; // cells along a side of the picture; of more, the largest of neighbours is shown
const FONT = 12, LABEL = 7.7; // size of labels, and the width of a letter

const images = new WeakMap();

/** The cells of a head as an address of a picture; the same head is painted once. */
function cells(head, most, signed, themeName) {
  const key = `${most} ${themeName}`;
  if (!images.has(head)) images.set(head, new Map());
  const known = images.get(head);
  if (!known.has(key)) {
    const rows = Math.min(head.queries, MOST_SIDE), columns = Math.min(head.keys, MOST_SIDE);
    const values = pooled(head, rows, columns), table = scale(signed ? "signed" : "weight", themeName);
    const level = signed ? (at) => (values[at] / most + 1) / 2 : (at) => values[at] / most;
    known.set(key, painted(rows, columns, table, level).toDataURL());
  }
  return known.get(key);
}

function pooled(head, rows, columns) {
  if (!head.list && rows === head.queries && columns === head.keys) return head.values;
  const found = new Float32Array(rows * columns);
  head.values.forEach((value, at) => {
    const query = head.list ? head.list.query[at] : Math.floor(at / head.keys), key = head.list ? head.list.key[at] : at % head.keys;
    const to = Math.floor((query * rows) / head.queries) * columns + Math.floor((key * columns) / head.keys);
    if (Math.abs(value) > Math.abs(found[to])) found[to] = value;
  });
  return found;
}

const longest = (tokens) => Math.min(150, LABEL * Math.max(1, ...tokens.slice(0, 400).map((one) => [...shown(one, 18)].length)) + 12);

/** The matrix: readers down the side, what is read along the top; a tree above it where the words have one. */
export function matrix(view) {
  const { stream } = view.now, { readers, read } = stream, colours = theme(view.theme);
  const space = Math.max(280, Math.min(view.width - 24, 860)), left = longest(readers.tokens);
  const cell = Math.max(0.5, Math.min(36, (space - left - 50) / read.tokens.length, 900 / readers.tokens.length));
  const wide = cell * read.tokens.length, high = cell * readers.tokens.length, labelled = cell >= 10;
  const crown = read.place.kind === "tree" ? tree(read, cell, colours) : { height: 0, drawn: nothing };
  const over = labelled ? longest([read.tokens[read.tokens.length - 1]]) * 0.6 : 6, across = left + wide + over;
  const top = (labelled ? longest(read.tokens) * 0.85 : 20) + crown.height, signed = stream.of.signed || view.signed;
  const at = view.pointed ?? view.now.token, row = at.group === readers ? at.index : null;
  const column = at.group === read && (read !== readers || view.picked.side === "read") ? at.index : null;
  const most = view.most || 1e-9, size = Math.min(FONT, cell * 0.85);
  const find = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = (part, count) => Math.max(0, Math.min(count - 1, Math.floor(part * count)));
    return { query: place((event.clientY - box.top) / box.height, readers.tokens.length), key: place((event.clientX - box.left) / box.width, read.tokens.length) };
  };
  const move = (event) => { const spot = find(event); view.point({ group: readers, index: spot.query, key: spot.key }); };
  const cellOf = view.pointed?.key;
  return html`<svg class="scene" role="img" aria-label=${`matrix: ${view.inWords}`} width=${across} height=${top + high + 44}
      viewBox="0 0 ${across} ${top + high + 44}" font-family="system-ui, sans-serif" font-size=${size}>
    <rect width="100%" height="100%" fill=${colours.ground}></rect>
    ${crown.drawn === nothing ? nothing : svg`<g transform="translate(${left} ${crown.height})">${crown.drawn}</g>`}
    ${labelled ? read.tokens.map((token, n) => svg`<text fill=${n === column || n === cellOf ? colours.picked : colours.ink} font-weight=${n === column || n === cellOf ? 700 : 400}
      transform="translate(${left + (n + 0.65) * cell} ${top - 4}) rotate(-55)">${shown(token, 18)}</text>`) : axis(read, left, top, cell, colours, false)}
    ${labelled ? readers.tokens.map((token, n) => svg`<text x=${left - 5} y=${top + (n + 0.5) * cell} dy="0.35em" text-anchor="end"
      fill=${n === row ? colours.picked : colours.ink} font-weight=${n === row ? 700 : 400}>${shown(token, 18)}</text>`) : axis(readers, left, top, cell, colours, true)}
    <image x=${left} y=${top} width=${wide} height=${high} preserveAspectRatio="none" image-rendering="pixelated"
      href=${cells(view.head, most, signed, view.theme)}></image>
    <rect x=${left} y=${top} width=${wide} height=${high} fill="none" stroke=${colours.edge}></rect>
    ${row === null ? nothing : svg`<rect x=${left} y=${top + row * cell} width=${wide} height=${Math.max(1, cell)} fill="none" stroke=${colours.picked} stroke-width="1.5"></rect>`}
    ${column === null ? nothing : svg`<rect x=${left + column * cell} y=${top} width=${Math.max(1, cell)} height=${high} fill="none" stroke=${colours.picked} stroke-width="1.5"></rect>`}
    ${cellOf === undefined ? nothing : svg`<rect x=${left + cellOf * cell} y=${top + row * cell} width=${Math.max(2, cell)} height=${Math.max(2, cell)} fill="none" stroke=${colours.picked} stroke-width="2.5"></rect>`}
    <rect class="touch" x=${left} y=${top} width=${wide} height=${high} fill="transparent" @pointermove=${move} @pointerleave=${() => view.point(null)}
      @click=${(event) => view.pick({ token: `${readers.name}.${find(event).query + 1}`, side: "" })}></rect>
    ${bar(left, top + high + 14, Math.min(wide, 220), most, signed, view, stream)}
  </svg>`;
}

function axis(group, left, top, cell, colours, down) {
  const every = Math.ceil(40 / cell / 10) * 10, found = [];
  for (let at = 0; at < group.tokens.length; at += every) {
    found.push(down ? svg`<text x=${left - 5} y=${top + at * cell} dy="0.7em" text-anchor="end" font-size="10" fill=${colours.pale}>${at + 1}</text>`
      : svg`<text x=${left + at * cell} y=${top - 4} font-size="10" fill=${colours.pale}>${at + 1}</text>`);
  }
  return found;
}

/** The scale of colours with its numbers. */
export function bar(x, y, width, most, signed, view, stream) {
  const colours = theme(view.theme), steps = 24, name = signed ? "signed" : "weight";
  const words = (value) => (view.signed ? number(value) : weightInWords(stream, value));
  return svg`${Array.from({ length: steps }, (_, n) => svg`<rect x=${x + (n * width) / steps} y=${y} width=${width / steps + 0.5} height="9"
      fill=${colour(name, signed ? (2 * n) / (steps - 1) - 1 : n / (steps - 1), view.theme)}></rect>`)}
    <rect x=${x} y=${y} width=${width} height="9" fill="none" stroke=${colours.edge}></rect>
    <text x=${x} y=${y + 21} font-size="10" fill=${colours.pale}>${signed ? words(-most) : 0}</text>
    <text x=${x + width} y=${y + 21} font-size="10" text-anchor="end" fill=${colours.pale}>${view.capped && most < 1 ? "≥ " : ""}${words(most)}</text>`;
}

/** The brackets of a tree over columns, drawn upwards from y = 0. */
function tree(group, cell, colours) {
  const { brackets, first } = group.place, level = 22, x = (column) => (first + column + 0.5) * cell;
  const highest = Math.max(0, ...brackets.map((one) => one.level)), y = (at) => (at ? -level * (at - 0.35) : 0);
  const middle = (one) => (one.below[0][0] + one.below[one.below.length - 1][0]) / 2;
  return { height: level * highest + 18, drawn: svg`<g stroke=${colours.edge} fill="none">${brackets.map((one) => svg`<path d=${`M${x(one.below[0][0])} ${y(one.level)}H${x(one.below[one.below.length - 1][0])}${one.below.map(([column, below]) => `M${x(column)} ${y(one.level)}V${y(below)}`).join("")}`}></path>`)}</g>
    ${brackets.map((one) => svg`<text x=${x(middle(one))} y=${y(one.level)} dy="0.32em" text-anchor="middle" font-size="11" fill=${colours.ink} stroke=${colours.ground} stroke-width="5" paint-order="stroke">${shown(one.label, 12)}</text>`)}` };
}

const MOST_LINES = 600, STEP = 20;

/** Two columns of tokens, and a line for each weight: those of the picked token dark. */
export function lines(view) {
  const { stream, token } = view.now, { readers, read } = stream, colours = theme(view.theme);
  const left = Math.max(90, longest(readers.tokens)), right = Math.max(90, longest(read.tokens)), gap = Math.max(120, Math.min(360, view.width - left - right - 40));
  const width = left + gap + right, height = STEP * Math.max(readers.tokens.length, read.tokens.length) + 24;
  const at = view.pointed ?? token, most = view.most || 1e-9, found = [];
  const mine = (query, key) => (at.group === readers && !(readers === read && view.picked.side === "read") ? query === at.index : key === at.index);
  const add = (value, query, key) => { if (Math.abs(value) > 0.02 * most) found.push([value, query, key]); };
  if (view.head.list) view.head.values.forEach((value, n) => add(value, view.head.list.query[n], view.head.list.key[n]));
  else view.head.values.forEach((value, n) => add(value, Math.floor(n / read.tokens.length), n % read.tokens.length));
  found.sort((a, b) => mine(a[1], a[2]) - mine(b[1], b[2]) || Math.abs(a[0]) - Math.abs(b[0]));
  const y = (n) => 30 + n * STEP, signed = stream.of.signed || view.signed;
  const word = (group, n, x, anchor) => svg`<text x=${x} y=${y(n)} dy="0.35em" text-anchor=${anchor} class="touch" fill=${at.group === group && at.index === n ? colours.picked : colours.ink}
    font-weight=${at.group === group && at.index === n ? 700 : 400} @click=${() => view.pick({ token: `${group.name}.${n + 1}`, side: group === readers ? "" : "read" })}
    @pointerenter=${() => view.point({ group, index: n })} @pointerleave=${() => view.point(null)}>${shown(group.tokens[n], 18)}</text>`;
  return html`<svg class="scene" role="img" aria-label=${`lines: ${view.inWords}`} width=${width} height=${height} viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size=${FONT}>
    <rect width="100%" height="100%" fill=${colours.ground}></rect>
    <text x=${left - 6} y="12" text-anchor="end" fill=${colours.pale}>reads</text><text x=${left + gap + 6} y="12" fill=${colours.pale}>is read</text>
    ${found.slice(-MOST_LINES).map(([value, query, key]) => svg`<line x1=${left} y1=${y(query)} x2=${left + gap} y2=${y(key)} stroke-linecap="round"
      stroke=${mine(query, key) ? colour(signed ? "signed" : "weight", signed ? value / most : 0.35 + 0.65 * Math.min(1, value / most), view.theme) : colours.edge}
      stroke-width=${0.6 + 3.4 * Math.min(1, Math.abs(value) / most)} stroke-opacity=${mine(query, key) ? 1 : 0.12 + 0.3 * Math.min(1, Math.abs(value) / most)}></line>`)}
    ${readers.tokens.map((_, n) => word(readers, n, left - 6, "end"))}${read.tokens.map((_, n) => word(read, n, left + gap + 6, "start"))}
  </svg>`;
}
