// Groups of tokens to point at, coloured by what the picked token reads, or what reads it.

import { html, nothing } from "./lit-html.js";
import { colour, inkOn, theme } from "./colours.js";
import { percent, number, shown } from "./data.js";

const MOST = 1200; // tokens that are written out; of more, those around the picked one

/** Whose values are shown for the picked token: the other group, and a number for each of its tokens. */
export function reading(view) {
  const { stream, token } = view.now, same = stream.readers === stream.read;
  const reads = token.group === stream.readers && !(same && view.picked.side === "read");
  const values = reads ? view.head.row(token.index) : view.head.column(token.index);
  return { reads, group: reads ? stream.read : stream.readers, values };
}

/** A weight in words: a share, or a number where it is none. */
export const weightInWords = (stream, value) => (readsBy(stream) ? percent(value) : number(value));

/** Whether the numbers of a stream are shares of what is read. */
export const readsBy = (stream) => ["attention", "rollout", "mean"].includes(stream.by);

/** What the picked token reads, in a sentence, for the reader's eye and for a screen reader. */
export function sentence(view) {
  const { stream, token } = view.now, { reads, group, values } = reading(view);
  const order = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).filter((at) => values[at]).slice(0, 3);
  const listed = order.map((at) => `${shown(group.tokens[at])} ${weightInWords(stream, values[at])}`).join(", ");
  const name = `“${shown(token.group.tokens[token.index])}”`;
  const verb = stream.by === "cosine" ? "is nearest to" : readsBy(stream) ? (reads ? "reads most" : "is read most by") : (reads ? "depends most on" : "counts most for");
  return listed ? `${name} ${verb}: ${listed}` : `${name} ${reads ? "reads nothing" : "is read by nothing"}`;
}

/** The groups of the stream, each token a choice; arrow keys go from one to the next. */
export function tokenGroups(view) {
  const { stream } = view.now;
  if (!stream) return nothing;
  const groups = stream.readers === stream.read ? [stream.read] : [stream.read, stream.readers];
  return groups.map((group) => one(view, group, groups.length > 1));
}

function one(view, group, named) {
  const { stream, token } = view.now, read = reading(view), coloured = read.group === group;
  const skip = stream.causal && coloured && read.reads && group.tokens.length > 2 ? 1 : 0;
  const most = Math.max(1e-9, ...Array.from(read.values.subarray(skip), Math.abs)), signed = stream.of.signed;
  const from = group.tokens.length <= MOST ? 0 : Math.max(0, Math.min(group.tokens.length - MOST, (token.group === group ? token.index : 0) - MOST / 2));
  const to = Math.min(group.tokens.length, from + MOST);
  const placed = group.place.kind === "grid" || group.place.kind === "globe";
  if (placed && group !== token.group) return nothing;
  const label = named || placed ? html`<span class="group">${group.name}</span>` : nothing;
  const first = placed ? Array.from({ length: group.place.first ?? 0 }, (_, at) => at) : Array.from({ length: to - from }, (_, at) => from + at);
  const listed = placed && !first.includes(token.index) ? [...first, token.index] : first;
  return html`<div class="tokens" role="listbox" aria-label=${`tokens: ${group.name}`} aria-orientation="horizontal">${label}
    ${from ? html`<span class="group">… ${from} before</span>` : nothing}${listed.map((at) => {
      const picked = token.group === group && token.index === at;
      const share = coloured ? read.values[at] / most : 0;
      const back = coloured ? colour(signed ? "signed" : "weight", signed ? share : Math.min(1, share), view.theme) : theme(view.theme).ground;
      return html`<button class="token" role="option" aria-selected=${picked} tabindex=${picked ? 0 : -1} data-token=${`${group.name}.${at + 1}`}
        title=${`${shown(group.tokens[at], 200)}${coloured ? ` ${weightInWords(stream, read.values[at])}` : ""}${group.said[at] ? ` (${group.said[at]})` : ""}`}
        .style=${`background:${back};color:${inkOn(back.startsWith("#") ? (view.theme === "dark" ? "rgb(17,26,35)" : "rgb(255,255,255)") : back)}`}
        @click=${() => view.pick({ token: `${group.name}.${at + 1}` })}
        @pointerenter=${() => view.point({ group, index: at })} @pointerleave=${() => view.point(null)}><bdi>${shown(group.tokens[at])}</bdi>${group.said[at] ? html`<small>${shown(group.said[at], 16)}</small>` : nothing}</button>`;
    })}${to < group.tokens.length ? html`<span class="group">${group.tokens.length - to} more …</span>` : nothing}</div>`;
}
