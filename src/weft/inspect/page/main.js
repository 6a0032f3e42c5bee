// The page: draws itself anew whenever what is picked changes.

import { html, nothing, render } from "./lit-html.js";
import { documentsIn, percent, shown, stepsOf } from "./data.js";
import { fromAddress, help, keyed, resolved, toAddress } from "./state.js";
import { headGrid, thumbnails } from "./heads.js";
import { reading, sentence, tokenGroups, weightInWords } from "./tokens.js";
import { lines, matrix } from "./matrix.js";
import { picture, still } from "./picture.js";
import { graph } from "./graph.js";
import { globe } from "./globe.js";
import { follow } from "./follow.js";
import { changes } from "./changes.js";
import { alike, compareBar, distance } from "./compare.js";
import { documentTables, readingTable } from "./tables.js";
import { save } from "./save.js";

const root = document.getElementById("page");
const dark = matchMedia("(prefers-color-scheme: dark)");
let documents = documentsIn(document.getElementById("documents").textContent);
let picked = { ...Object.fromEntries(documents[0].start), ...fromAddress(location.hash) };
let views = [], pointed = null, turn = 0, helping = false, said = "";

/** The views of a scene that can be chosen, the usual one first. */
function viewsOf(given, stream) {
  if (!stream) return given.groups.some((group) => group.place.kind === "plane") ? ["graph"] : ["still"];
  const kinds = new Set([stream.read.place.kind, stream.readers.place.kind]), texts = stream.readers.tokens.length + stream.read.tokens.length <= 400 ? ["matrix", "lines"] : ["matrix"];
  if (kinds.has("globe")) return [stream.read.place.sphere ?? stream.readers.place.sphere ? ["map", "globe"] : ["map"], "matrix"].flat();
  if (kinds.has("grid")) return ["picture", "matrix"];
  if (kinds.has("plane")) return ["graph", "matrix"];
  return texts;
}

const DRAWN = { matrix, lines, picture, graph, map: globe, globe, still };

async function viewOf(given, number) {
  const now = resolved(given, picked), choices = viewsOf(given, now.stream);
  const view = {
    document: given, number, now, picked: { ...picked, view: choices.includes(picked.view) ? picked.view : choices[0] }, choices,
    theme: themeName(), pick, point, pointed: null, width: 640, inWords: "", head: null, most: 0,
  };
  if (!now.stream) return view;
  view.inWords = now.stream.inWords(now.layer, now.head) + (now.temperature === 1 ? "" : `, temperature ${now.temperature}`);
  view.head = await warmed(now);
  view.thumbnails = await thumbnails(view);
  const steps = given.steps.find((one) => one.stream === now.stream.name && one.token === now.token.index && now.token.group === now.stream.readers);
  if (steps) {
    const layer = now.layer ?? now.stream.of.layers - 1, head = now.head ?? 0;
    view.steps = { ...(await stepsOf(steps))[layer][head], where: `${now.stream.rowName(layer)}, ${now.stream.columnName(head)}` };
  }
  return view;
}

async function warmed({ stream, layer, head, temperature }) {
  const key = `${layer} ${head} ${temperature}`;
  if (stream.warm?.key !== key) stream.warm = { key, head: (await stream.head(layer, head)).warmed(stream.of.signed ? 1 : temperature) };
  return stream.warm.head;
}

const themeName = () => picked.theme ?? (dark.matches ? "dark" : "light");

/** The largest number of the colours: of the whole head, or of what the picked token reads on a map. */
function largest(view) {
  if (!view.head) return 0;
  if (["picture", "graph", "map", "globe"].includes(view.picked.view)) {
    const { group, values } = reading(view), from = group.place.first ?? 0;
    return Math.max(1e-9, ...Array.from(values.subarray(Math.min(from, values.length - 1)), Math.abs));
  }
  view.capped = view.now.stream.causal && view.head.keys > 2;
  return view.head.largest(view.capped ? 1 : 0);
}

async function draw() {
  const mine = ++turn, found = await Promise.all(documents.map(viewOf));
  if (mine !== turn) return;
  const most = Math.max(...found.map(largest));
  for (const view of found) view.most = most;
  if (found.length > 1 && picked.compare === "difference" && alike(found[0].head, found[1].head)) {
    const head = found[0].head.minus(found[1].head), view = { ...found[0], head, signed: true, inWords: `difference, ${found[0].inWords}` };
    found.push({ ...view, most: head.largest(0) || 1e-9, capped: false, picked: { ...view.picked, view: "matrix" } });
  }
  views = found;
  show();
}

function pick(change) {
  picked = { ...picked, ...change };
  for (const name of Object.keys(picked)) if (picked[name] === "") delete picked[name];
  try { history.replaceState(null, "", toAddress(picked)); } catch { /* a frame without an address of its own */ }
  draw();
}

function point(at) {
  if (pointed?.group === at?.group && pointed?.index === at?.index && pointed?.key === at?.key) return;
  pointed = at;
  show();
}

const actions = {
  pick,
  say(words) { said = words; show(); },
  beside(other) { documents = other ? [documents[0], other] : [documents[0]]; if (!other) pick({ compare: "" }); else draw(); },
};

/** Which of several looks this is, in words. */
const nameOf = (view) => (views.length > 1 ? (view.signed ? "difference" : [view.document.run, view.document.title].filter(Boolean).join(": ")) : "");

function answer(view) {
  const found = view.document.answer;
  if (!found) return nothing;
  return html`<section class="answer" aria-label="answer"><h2>${found.called}${nameOf(view) ? html` <small class="pale"><bdi>${shown(nameOf(view), 60)}</bdi></small>` : nothing}</h2><ol>${found.said.map(([text, chance]) => html`<li><bdi>${shown(text, 400)}</bdi>${chance === null ? nothing : html` <span class="number">${percent(chance)}</span><svg width="70" height="8" aria-hidden="true"><rect class="bar" width=${70 * chance} height="8"></rect></svg>`}</li>`)}</ol></section>`;
}

function controls(view) {
  const { stream, temperature, token } = view.now, given = view.document;
  if (!stream) return nothing;
  const same = stream.readers === stream.read;
  return html`<div class="controls">
    ${given.streams.length > 1 ? html`<label>show <select @change=${(event) => pick({ stream: event.target.value })}>${given.streams.map((one) => html`<option ?selected=${one === stream} value=${one.name}>${one.name}</option>`)}</select></label>` : nothing}
    ${view.choices.length > 1 ? html`<span class="choice" role="group" aria-label="view">${view.choices.map((name) => html`<button aria-pressed=${view.picked.view === name} @click=${() => pick({ view: name })}>${name}</button>`)}</span>` : nothing}
    ${same ? html`<span class="choice" role="group" aria-label="direction">${[["", "reads"], ["read", "is read by"]].map(([side, name]) => html`<button aria-pressed=${(picked.side ?? "") === side} @click=${() => pick({ side })}>${name}</button>`)}</span>` : nothing}
    ${stream.of.signed || stream.by !== "attention" ? nothing : html`<label title="softmax(scores / T): below 1 sharper, above 1 flatter">temperature <input type="range" min="-1" max="1" step="0.05" .value=${String(Math.log10(temperature))}
      aria-valuetext=${String(temperature)} @input=${(event) => pick({ t: Number(event.target.value) === 0 ? "" : String(Number((10 ** event.target.value).toFixed(2))) })}> <output>${temperature}</output></label>`}
    <span class="now">${view.inWords}</span></div>`;
}

function scene(view, at) {
  const name = nameOf(view);
  const drawn = view.now.stream || view.picked.view === "graph" ? DRAWN[view.picked.view] : still;
  const mine = pointed && view.now.stream && [view.now.stream.readers, view.now.stream.read].includes(pointed.group) ? pointed : null;
  const shownView = { ...view, pointed: mine, width: widthOf() / (views.length > 1 && innerWidth > 900 ? views.length : 1) };
  return html`<div class="drawn" data-number=${at}>${name ? html`<h3>${shown(name, 60)}</h3>` : nothing}${drawn(shownView)}</div>`;
}

const widthOf = () => (innerWidth > 1100 && views[0]?.now.stream?.several ? Math.min(innerWidth, 1700) - 330 - 330 : innerWidth > 1100 ? Math.min(innerWidth, 1700) - 380 : innerWidth) - 30;

function pointedWords(view) {
  if (!pointed || !view.now.stream) return view.now.stream ? sentence(view) : "";
  const group = pointed.group, { stream } = view.now;
  if (pointed.key !== undefined) return `“${shown(stream.readers.tokens[pointed.index])}” reads “${shown(stream.read.tokens[pointed.key])}”: ${weightInWords(stream, view.head.row(pointed.index)[pointed.key])}`;
  const { group: over, values } = reading(view);
  return over === group ? `${shown(group.tokens[pointed.index], 60)}: ${weightInWords(stream, values[pointed.index])}` : shown(group.tokens[pointed.index], 60);
}

function show() {
  if (!views.length) return;
  const first = views[0], given = first.document, name = themeName();
  document.documentElement.dataset.theme = name;
  render(html`<header><h1><bdi>${shown(given.title, 120)}</bdi></h1><p class="pale">${[given.run, given.task].filter(Boolean).join(" · ")}</p>
      <nav aria-label="page"><button @click=${() => pick({ theme: name === "dark" ? "light" : "dark" })}>${name === "dark" ? "light" : "dark"}</button>
        ${["png", "svg", "pdf", "json"].map((kind) => html`<button @click=${() => save(kind, first)}>save ${kind.toUpperCase()}</button>`)}
        <button aria-expanded=${helping} @click=${() => { helping = !helping; show(); }}>keys ?</button></nav></header>
    ${helping ? html`<dl class="help">${help.map(([key, words]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}</dl>` : nothing}
    <main class=${first.now.stream?.several ? "three" : "two"}>
      <div class="top">${tokenGroups(first)}${controls(first)}<p class="says" aria-live="polite">${said || pointedWords(first)}</p></div>
      ${headGrid(first)}
      <section class="middle" aria-label="scene"><div class="scenes">${views.map(scene)}</div>${views.length > 1 ? html`<p class="pale">${distance(views[0].head, views[1].head)}</p>` : nothing}</section>
      <aside aria-label="answer and numbers">${views.filter((view) => !view.signed).map(answer)}${readingTable(first)}</aside>
      <div class="panels">${follow(first)}${changes(first)}</div>
      <div class="below">${given.notes.map((note) => html`<p class="note">${note}</p>`)}${compareBar(views, actions)}${documentTables(given)}</div>
    </main>`, root);
}

/** The cell of the picked head in the sweep that switches heads off, so that x shows the answer without it. */
function offCell() {
  const { stream, layer, head } = views[0].now, sweep = views[0].document.sweeps.find((one) => one.change === "without" && one.stream === stream?.name);
  return sweep && layer !== null && head !== null ? { sweep: sweep.name, cell: `${layer + 1}.${head + 1}` } : {};
}

addEventListener("keydown", (event) => {
  const inside = event.target.closest?.("input, select, textarea, pre");
  if (inside || event.ctrlKey || event.metaKey || event.altKey || !views.length) return;
  if (event.key === "?" || event.key === "Escape") { helping = event.key === "?" && !helping; show(); return; }
  if (event.key === "x" && document.querySelector(".sweep")) return pick({ colour: "effect", ...offCell() });
  const change = keyed(event.key, documents[0], { view: views[0].picked.view, ...picked }, views[0].choices);
  if (!change) return;
  event.preventDefault();
  const focused = document.activeElement?.classList.contains("token");
  pick(change);
  if (focused && change.token) requestAnimationFrame(() => setTimeout(() => document.querySelector('.token[aria-selected="true"]')?.focus(), 30));
});
addEventListener("hashchange", () => { picked = { ...Object.fromEntries(documents[0].start), ...fromAddress(location.hash) }; draw(); });
addEventListener("resize", show);
dark.addEventListener("change", draw);
root.replaceChildren();
draw();
