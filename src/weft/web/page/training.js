// A run in training: curves, what its model answers by now, the time that is left.

import { call, drawn, duration, made, short } from "./made.js";

const WIDE = 640, HIGH = 260, LEFT = 52, LOW = 26;

/** Show a run until `ended` says otherwise; `done` is called once it has finished. */
export async function watch(box, name, ended, done) {
  let page = "";
  while (!ended()) {
    try {
      const found = await (await call(`/api/training/${encodeURIComponent(name)}`)).json();
      if (ended()) return;
      const frame = box.querySelector("iframe");
      const keep = frame && found.tried?.page === page ? frame : null;
      page = found.tried?.page ?? "";
      show(box, found, keep);
      if (found.state === "finished") { done(); return; }
    } catch (error) {
      if (!ended()) box.replaceChildren(made("pre", { className: "error", textContent: error.message }));
    }
    await new Promise((next) => setTimeout(next, 2000));
  }
}

function show(box, found, kept) {
  const share = found.end ? `step ${found.step.toLocaleString("en")} of ${found.end.toLocaleString("en")}` : `step ${found.step.toLocaleString("en")}`;
  const left = found.state !== "training" ? found.state : found.left === null ? "the time left is not known yet" : `${duration(found.left)} left`;
  const nodes = [
    made("h2", { textContent: `${found.name}: ${left}` }),
    made("p", { className: "pale", textContent: [found.task, found.model, found.data, share, `${duration(found.seconds)} so far`].filter(Boolean).join(" · ") }),
    chart(found.curves),
  ];
  const metrics = Object.entries(found.metrics);
  if (metrics.length) nodes.push(made("p", { textContent: metrics.map(([name, value]) => `${name} ${short(value)}`).join(" · ") }));
  if (found.tried) nodes.push(...tried(found.tried, box, kept));
  else nodes.push(made("p", { className: "pale", textContent: found.note || "What the model answers is shown after its first checkpoint (once a minute)." }));
  box.replaceChildren(...nodes);
}

function tried(one, box, kept) {
  const nodes = [made("h3", { textContent: `what it answers after step ${one.step.toLocaleString("en")}` }), made("p", { className: "given", textContent: one.input }), made("pre", { className: "said", textContent: one.said })];
  if (!one.page) return nodes;
  const open = made("details", { open: Boolean(kept) }, made("summary", { textContent: "what it looks at" }));
  if (kept) open.append(kept);
  else open.addEventListener("toggle", () => { if (open.open && !open.querySelector("iframe")) open.append(made("iframe", { src: one.page, title: "what the model looks at" })); });
  return [...nodes, open];
}

/** Losses by step, on a logarithmic axis where all are above 0. */
function chart(curves) {
  const all = [...curves.loss, ...curves.held_out], values = all.map(([, value]) => value);
  if (all.length < 2) return made("p", { className: "pale", textContent: "The curve begins with the first steps." });
  const log = values.every((value) => value > 0), scale = log ? Math.log : (value) => value;
  const sorted = [...values].sort((a, b) => a - b), low = scale(sorted[0]), high = scale(sorted[Math.floor(0.98 * (sorted.length - 1))]);
  const room = 0.06 * (high - low || 1), bottom = low - room, top = high + room, first = all.reduce((least, [step]) => Math.min(least, step), Infinity), last = all.reduce((most, [step]) => Math.max(most, step), 0);
  const x = (step) => LEFT + ((step - first) / (last - first || 1)) * (WIDE - LEFT - 10), y = (value) => Math.max(4, HIGH - LOW - ((scale(value) - bottom) / (top - bottom)) * (HIGH - LOW - 8));
  const path = (points) => points.map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const ticks = [0, 1, 2, 3, 4].map((i) => { const at = bottom + ((i + 0.5) / 5) * (top - bottom); return log ? Math.exp(at) : at; });
  const words = `Loss by step${log ? ", logarithmic axis" : ""}. Now ${short(curves.loss.at(-1)?.[1] ?? NaN)}${curves.held_out.length ? `, held out ${short(curves.held_out.at(-1)[1])}` : ""}.`;
  const drawing = drawn("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words },
    ...ticks.flatMap((value) => [drawn("line", { class: "axis", x1: LEFT, x2: WIDE - 10, y1: y(value), y2: y(value) }), drawn("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value.toPrecision(3))]),
    drawn("text", { x: LEFT, y: HIGH - 8 }, short(Math.round(first))), drawn("text", { x: WIDE - 10, y: HIGH - 8, "text-anchor": "end" }, `step ${short(Math.round(last))}`),
    drawn("path", { d: path(curves.loss) }), drawn("path", { class: "held", d: path(curves.held_out) }),
    ...curves.held_out.map(([step, value]) => drawn("circle", { cx: x(step), cy: y(value), r: 3 })));
  const legend = made("p", { className: "pale" }, made("span", { className: "key" }), "training loss ", ...(curves.held_out.length ? [made("span", { className: "key held" }), "held out "] : []), log ? "(logarithmic axis)" : "");
  return made("div", {}, drawing, legend);
}
