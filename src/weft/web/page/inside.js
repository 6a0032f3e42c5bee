// What the model did, in place: the page of a look, and changes that the server computes at once.

import { bar, made, post, short } from "./made.js";

const path = (kind, run) => `/api/${kind}/${encodeURIComponent(run.name)}`;

/** A button that opens an answer up. */
export function inside(run, value) {
  const button = made("button", { type: "button", textContent: "look inside" }), box = made("div");
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", async () => {
    if (box.childElementCount) {
      box.hidden = !box.hidden;
      button.setAttribute("aria-expanded", String(!box.hidden));
      return;
    }
    button.disabled = true;
    box.replaceChildren();
    try {
      const frame = made("iframe", { title: "what the model did" }), changed = made("section", { className: "changes" });
      changed.setAttribute("aria-label", "change and see");
      const found = await look(run, value, [], frame);
      box.append(frame, made("p", {}, made("a", { href: found.page, target: "_blank", rel: "noopener", textContent: "open what the model did in a window of its own" })), changed);
      button.setAttribute("aria-expanded", "true");
      changes(run, value, changed, frame);
    } catch (error) {
      box.append(made("pre", { className: "error", textContent: error.message }));
    }
    button.disabled = false;
  });
  return made("div", {}, made("p", { className: "row" }, button), box);
}

async function look(run, value, changes, frame) {
  const found = await (await post(path("look", run), { input: value, ...(changes.length ? { changes } : {}) })).json();
  frame.src = found.page;
  return found;
}

/** Heads and branches that can be switched off; each change asks the server for the answer before and after. */
async function changes(run, value, box, frame) {
  const off = new Map(), after = made("div", { role: "status" });
  let turn = 0;
  box.append(made("h3", { textContent: "Change and see" }));
  async function see() {
    const mine = ++turn, rows = [[...off.values()]];
    if (!off.size) { after.replaceChildren(); return; }
    try {
      const found = await (await post(path("sweep", run), { input: value, sweep: "changes", rows })).json();
      if (mine === turn) after.replaceChildren(...compared(found));
    } catch (error) {
      if (mine === turn) after.replaceChildren(made("pre", { className: "error", textContent: error.message }));
    }
  }
  const grids = [];
  for (const sweep of ["heads", "branches"]) {
    try { grids.push([sweep, await (await post(path("sweep", run), { input: value, sweep })).json()]); } catch (error) {
      if (sweep === "branches" && !grids.length) { box.append(made("p", { className: "pale", textContent: `Nothing can be switched off here: ${error.message}` })); return; }
    }
  }
  const [first] = grids;
  box.append(made("p", { className: "pale", textContent: `Switch off parts of the model: the numbers are the change of the ${first[1].measured}, which is ${short(first[1].before)} now. What lowers it, the answer needs.` }));
  for (const [sweep, found] of grids) box.append(grid(sweep, found, off, see));
  const again = made("button", { type: "button", textContent: "show the changed model above" }), clear = made("button", { type: "button", textContent: "switch all on" });
  again.addEventListener("click", async () => {
    again.disabled = true;
    try { await look(run, value, [...off.values()], frame); } catch (error) { after.replaceChildren(made("pre", { className: "error", textContent: error.message })); }
    again.disabled = false;
  });
  clear.addEventListener("click", () => {
    off.clear();
    for (const one of box.querySelectorAll("[aria-pressed]")) one.setAttribute("aria-pressed", "false");
    see();
  });
  box.append(after, made("p", { className: "row" }, again, clear));
}

function grid(sweep, found, off, see) {
  const differences = found.measures.map((row) => row.map((one) => (one === null ? null : one - found.before)));
  const most = Math.max(1e-9, ...differences.flat().map((one) => Math.abs(one ?? 0)));
  const row = (name, number) => made("tr", {}, made("th", { scope: "row", textContent: name }), ...differences[number].map((value, column) => {
    if (value === null) return made("td");
    const part = sweep === "heads" ? { branch: "mix", head: column + 1 } : { branch: found.columns[column] };
    const change = { type: "Without", layer: number + 1, ...(found.stream ? { stream: found.stream } : {}), ...part };
    const button = made("button", { type: "button", title: `${name}, ${found.columns[column]}: switch off`, textContent: Math.abs(value) < 0.005 ? "0" : value.toFixed(2) });
    button.style.background = `color-mix(in srgb, var(${value < 0 ? "--bad" : "--bar"}) ${Math.round(55 * Math.abs(value) / most)}%, var(--paper))`;
    button.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-label", `${name}, ${found.columns[column]}: ${value.toFixed(2)}`);
    button.addEventListener("click", () => {
      const key = JSON.stringify(change);
      if (!off.delete(key)) off.set(key, change);
      button.setAttribute("aria-pressed", String(off.has(key)));
      see();
    });
    return made("td", {}, button);
  }));
  const head = made("tr", {}, made("td"), ...found.columns.map((name) => made("th", { scope: "col", textContent: name })));
  return made("div", { className: "scroll" }, made("table", { className: "grid" }, made("thead", {}, head), made("tbody", {}, ...found.rows.map(row))));
}

/** The answer before and after, with the measure. */
function compared(found) {
  const [row] = found.rows, difference = row.measure - found.before;
  const said = (answer) => made("ol", {}, ...answer.map(([text, chance]) => made("li", {}, made("bdi", { textContent: text }), " ", ...(chance === null ? [] : [bar(chance)]))));
  const number = made("span", { className: `number ${difference < 0 ? "down" : "up"}`, textContent: `${difference < 0 ? "−" : "+"}${short(Math.abs(difference))}` });
  return [
    made("h3", { textContent: row.changes.join(", ") }),
    made("div", { className: "pair" }, made("div", {}, made("h3", { textContent: "before" }), said(found.answers)), made("div", {}, made("h3", { textContent: "after" }), said(row.answers))),
    made("p", {}, `${found.measured}: ${short(found.before)} → ${short(row.measure)} (`, number, ")"),
  ];
}
