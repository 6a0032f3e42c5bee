// Change and see: parts of the model that are switched off, scaled, pinned or taken from another input, one or several.
// The server computes the answer anew with all of them.

import { bar, content, made, path, post, short } from "./made.js";

// What can be changed: in words, the fields that it needs, and what is sent.
const KINDS = {
  Without: { words: "switch off", fields: ["layer", "part", "head", "by"] },
  Scaled: { words: "scale", fields: ["layer", "part", "head", "factor"] },
  Unread: { words: "do not let read", fields: ["layer", "reader", "head", "tokens", "keys"] },
  Pinned: { words: "pin what heads read", fields: ["layer", "reader", "head", "weights"] },
  Replaced: { words: "take from another input", fields: ["layer", "part", "head", "tokens"], other: true },
  Added: { words: "steer to another input", fields: ["layer", "strength", "minus"], other: true },
  Hidden: { words: "hide tokens", fields: ["tokens"] },
};
const FIELDS = {
  layer: { words: "layer", number: true },
  part: { words: "branch", choices: ["", "mix", "read", "transform"], usual: "all", name: "branch" },
  reader: { words: "branch", choices: ["", "mix", "read"], usual: "mix", name: "branch" },
  head: { words: "head", usual: "all", number: true },
  by: { words: "by", choices: ["zero", "mean"] },
  factor: { words: "times", number: true, value: "0.5" },
  strength: { words: "strength", number: true, value: "1" },
  tokens: { words: "tokens (1, 2 …)", usual: "all", many: true },
  keys: { words: "not these tokens", many: true },
  weights: { words: "to", choices: ["uniform", "previous", "itself", "first", "other"], named: { other: "those of another input" } },
  minus: { words: "away from the second input", tick: true },
};

/** What can be changed, below a look; `look(changes)` shows the changed model. */
export async function changing(run, value, box, look) {
  const kept = new Map(), after = made("div", { role: "status" }), chips = made("p", { className: "row chips" });
  const others = { other: null, second: null };
  let turn = 0;
  const needs = () => new Set([...kept.values()].flatMap((one) => [one.of, one.minus]).filter(Boolean));

  async function see() {
    const mine = ++turn, given = Object.fromEntries([...needs()].map((name) => [name, others[name]]));
    chips.replaceChildren(...[...kept].map(([key, one]) => chip(one, () => { kept.delete(key); see(); })));
    for (const button of box.querySelectorAll("[aria-pressed]")) button.setAttribute("aria-pressed", String(kept.has(button.dataset.change)));
    again.disabled = needs().size > 0;
    again.title = again.disabled ? "a look takes one input alone" : "";
    if (!kept.size) { after.replaceChildren(); return; }
    try {
      const found = await (await post(path("sweep", run), { input: value, sweep: "changes", rows: [[...kept.values()]], ...given })).json();
      if (mine === turn) after.replaceChildren(...compared(found));
    } catch (error) {
      if (mine === turn) after.replaceChildren(made("pre", { className: "error", textContent: error.message }));
    }
  }
  function change(one) {
    const key = JSON.stringify(one);
    if (!kept.delete(key)) kept.set(key, one);
    return see();
  }
  const again = made("button", { type: "button", textContent: "show the changed model above" }), clear = made("button", { type: "button", textContent: "switch all on" });
  again.addEventListener("click", async () => {
    again.disabled = true;
    try { await look([...kept.values()]); } catch (error) { after.replaceChildren(made("pre", { className: "error", textContent: error.message })); }
    again.disabled = false;
  });
  clear.addEventListener("click", () => { kept.clear(); see(); });

  box.append(made("h3", { textContent: "Change and see" }));
  const grids = [];
  for (const sweep of ["heads", "branches"]) {
    try { grids.push([sweep, await (await post(path("sweep", run), { input: value, sweep })).json()]); } catch (error) {
      if (sweep === "branches" && !grids.length) { box.append(made("p", { className: "pale", textContent: `Nothing can be switched off here: ${error.message}` })); return; }
    }
  }
  const [, first] = grids[0];
  box.append(made("p", { className: "pale", textContent: `Switch off parts of the model: the numbers are the change of the ${first.measured}, which is ${short(first.before)} now. What lowers it, the answer needs.` }));
  for (const [sweep, found] of grids) box.append(grid(sweep, found, change));
  box.append(chooser(run, first, others, change), chips, after, made("p", { className: "row" }, again, clear));
}

const part = (found) => (found.stream ? { stream: found.stream } : {});

/** A change of the measure: two decimals, or two digits where these would say little. */
const effect = (value) => (value === 0 ? "0" : Math.abs(value) >= 0.1 ? value.toFixed(2) : value.toPrecision(2));

function grid(sweep, found, change) {
  const least = 1e-5 * Math.abs(found.before); // what is smaller may be rounding
  const differences = found.measures.map((row) => row.map((one) => (one === null ? null : Math.abs(one - found.before) > least ? one - found.before : 0)));
  const most = Math.max(Number.MIN_VALUE, ...differences.flat().map((one) => Math.abs(one ?? 0)));
  const row = (name, number) => made("tr", {}, made("th", { scope: "row", textContent: name }), ...differences[number].map((value, column) => {
    if (value === null) return made("td");
    const off = { type: "Without", layer: number + 1, ...part(found), ...(sweep === "heads" ? { branch: "mix", head: column + 1 } : { branch: found.columns[column] }) };
    const button = made("button", { type: "button", title: `${name}, ${found.columns[column]}: switch off`, textContent: effect(value) });
    button.style.background = `color-mix(in srgb, var(${value < 0 ? "--bad" : "--bar"}) ${Math.round(55 * Math.abs(value) / most)}%, var(--paper))`;
    button.dataset.change = JSON.stringify(off);
    button.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-label", `${name}, ${found.columns[column]}: ${effect(value)}`);
    button.addEventListener("click", () => change(off));
    return made("td", {}, button);
  }));
  const head = made("tr", {}, made("td"), ...found.columns.map((name) => made("th", { scope: "col", textContent: name })));
  return made("div", { className: "scroll" }, made("table", { className: "grid" }, made("thead", {}, head), made("tbody", {}, ...found.rows.map(row))));
}

/** A line that says what is changed, with a button that takes it back. */
function chip(one, drop) {
  const { type, ...rest } = one, words = Object.entries(rest).filter(([key, value]) => key !== "stream" && value !== "other" && value !== "second").map(([key, value]) => `${key} ${[value].flat().join(" ")}`);
  const button = made("button", { type: "button", textContent: "×" });
  const text = [KINDS[type].words, ...words].join(", ");
  button.setAttribute("aria-label", `take back: ${text}`);
  button.addEventListener("click", drop);
  return made("span", { className: "chip" }, text, " ", button);
}

/** The form that makes a change of any kind, and the other inputs that some of them need. */
function chooser(run, found, others, change) {
  const kind = made("select", {}, ...Object.entries(KINDS).map(([value, one]) => made("option", { value, textContent: one.words })));
  const inputs = made("div", { className: "row" }), fields = made("span", { className: "row" }), problem = made("p", { className: "error", hidden: true });
  const form = made("form", { className: "row" }, made("label", {}, "also ", kind), fields, made("button", { type: "submit", textContent: "change", className: "plain" }));
  const nodes = {};
  const needed = () => [...(KINDS[kind.value].other || nodes.weights?.value === "other" ? ["other"] : []), ...(nodes.minus?.checked ? ["second"] : [])];
  let asked = ""; // what stands there now: a field that is made anew while it is clicked would swallow the click
  const ask = () => {
    if (asked === (asked = needed().join())) return;
    inputs.replaceChildren(...needed().map((name) => other(run, others, name)));
  };
  function show() {
    for (const name of Object.keys(nodes)) delete nodes[name];
    fields.replaceChildren(...KINDS[kind.value].fields.map((name) => {
      nodes[name] = Object.assign(field(FIELDS[name], found.rows.length), { name });
      nodes[name].addEventListener("change", ask);
      return made("label", {}, `${FIELDS[name].words} `, nodes[name]);
    }));
    ask();
  }
  kind.addEventListener("change", show);
  form.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    const [one, wrong] = said(kind.value, nodes, found), missing = needed().find((name) => others[name] === null);
    problem.textContent = wrong || (missing ? `give the ${missing} input first` : "");
    problem.hidden = !problem.textContent;
    if (problem.hidden) change(one);
  });
  show();
  return made("details", {}, made("summary", { textContent: "other changes: scale, pin, cut, patch, steer" }), form, inputs, problem);
}

function field(about, layers) {
  if (about.tick) return made("input", { type: "checkbox" });
  if (about.choices) return made("select", {}, ...about.choices.map((value) => made("option", { value, textContent: about.named?.[value] ?? (value || about.usual) })));
  const node = made("input", { className: about.many ? "numbers" : "small", placeholder: about.usual ?? "", value: about.value ?? "", inputMode: "decimal" });
  if (about.words === "layer") Object.assign(node, { value: "1", title: `from 1 to ${layers}` });
  return node;
}

/** The change that the fields say, or what is wrong with them. */
function said(type, nodes, found) {
  const one = { type, ...part(found) };
  for (const [name, node] of Object.entries(nodes)) {
    const about = FIELDS[name], text = (node.value ?? "").trim();
    if (about.tick) { if (node.checked) one.minus = "second"; continue; }
    if (text === "" || (name === "weights" && text === "other")) continue;
    const numbers = text.split(/[\s,]+/).filter(Boolean).map(Number);
    if ((about.many || about.number) && (!numbers.length || numbers.some(Number.isNaN))) return [null, `${about.words}: expected ${about.many ? "numbers" : "a number"}`];
    one[about.name ?? name] = about.many ? numbers : about.number ? numbers[0] : text;
  }
  if (type === "Replaced" || type === "Added" || (type === "Pinned" && !one.weights)) one.of = "other";
  return [one, ""];
}

/** Where another input is typed or chosen. */
function other(run, others, name) {
  const asks = run.asks[0], words = name === "other" ? "the other input" : "the second input", typed = asks.kind === "text" || asks.kind === "place";
  const node = typed ? made("input", { value: others[name] ?? "" }) : made("input", { type: "file", accept: asks.kind.startsWith("picture") ? "image/*" : asks.endings.join(",") });
  node.addEventListener("change", async () => { others[name] = typed ? node.value || null : node.files.length ? await content(node.files[0]) : null; });
  return made("label", { className: "field wide" }, words, node);
}

/** The answer before and after, with the measure. */
function compared(found) {
  const [row] = found.rows, difference = row.measure - found.before;
  const answers = (some) => made("ol", {}, ...some.map(([text, chance]) => made("li", {}, made("bdi", { textContent: text }), " ", ...(chance === null ? [] : [bar(chance)]))));
  const number = made("span", { className: `number ${difference < 0 ? "down" : "up"}`, textContent: `${difference < 0 ? "−" : "+"}${short(Math.abs(difference))}` });
  return [
    made("div", { className: "pair" }, made("div", {}, made("h3", { textContent: "before" }), answers(found.answers)), made("div", {}, made("h3", { textContent: "after" }), answers(row.answers))),
    made("p", {}, `${found.measured}: ${short(found.before)} → ${short(row.measure)} (`, number, ")"),
  ];
}
