// The page for people: a form that writes itself from what a run asks for. All texts are set as text, never as HTML.

import { at, call, made, post, save } from "./made.js";
import { asked, form, said, take } from "./forms.js";
import { csv, listed, shown } from "./answers.js";
import { inside } from "./inside.js";
import { watch } from "./training.js";

const AT_ONCE = 64; // inputs of one request
const answers = []; // all that was answered, to be saved
let runs = [], training = [], running = null, watching = 0;

const chosen = () => runs.find((one) => one.name === at("run").value);

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part.slice(6));
  }
}

const noted = (run, names, predictions) => answers.push(...predictions.map(({ number, ...one }) => ({ run: run.name, asked: names[number] ?? names[0], ...one })));

async function ask(submitted) {
  submitted.preventDefault();
  const run = chosen(), box = made("article");
  if (!run) return;
  running = new AbortController();
  at("send").disabled = true;
  at("stop").disabled = false;
  at("state").textContent = "…";
  try {
    const given = await asked(run), names = given.map(([, name]) => name);
    box.append(made("h2", {}, `${run.name} `, made("span", { textContent: given.length > 1 ? `${given.length} inputs` : names[0].slice(0, 80) })));
    at("answers").prepend(box);
    await (given.length > 1 ? many(run, given, box) : run.gives.streams ? streamed(run, given[0], box) : whole(run, given[0], box));
    if (given.length === 1 && run.looks) box.append(inside(run, given[0][0]));
  } catch (error) {
    if (!box.parentNode) at("answers").prepend(box);
    box.append(made("pre", { className: error.name === "AbortError" ? "pale" : "error", textContent: error.name === "AbortError" ? "stopped" : error.message }));
  } finally {
    at("send").disabled = false;
    at("stop").disabled = true;
    at("state").textContent = "";
    at("saving").hidden = !answers.length;
  }
}

const predict = (run, body) => post(`/api/predict/${encodeURIComponent(run.name)}`, { ...body, settings: said(run) }, running.signal);

async function streamed(run, [value, name], box) {
  const answer = await predict(run, { input: value, stream: true });
  const live = made("pre", { className: "said" }, made("span", { className: "given", textContent: run.gives.continues ? value : "" }));
  box.append(live);
  for await (const one of events(answer)) {
    if (one.error) throw new Error(one.error.message);
    if (one.predictions) {
      noted(run, [name], one.predictions);
      one.predictions.slice(1).forEach((other) => { box.append(made("h3", { textContent: "another" })); shown(other, box); });
    } else if (one.number === 0) live.append(one.text);
  }
}

async function whole(run, [value, name], box) {
  const { predictions } = await (await predict(run, { input: value, files: true })).json();
  predictions.forEach((one, i) => {
    if (i === 1) box.append(made("h3", { textContent: "alternatives" }));
    shown(one, box);
  });
  noted(run, [name], predictions);
}

async function many(run, given, box) {
  const place = made("div"), names = given.map(([, name]) => name), found = [];
  box.append(place);
  for (let start = 0; start < given.length; start += AT_ONCE) {
    const some = given.slice(start, start + AT_ONCE);
    const { predictions } = await (await predict(run, { inputs: some.map(([value]) => value) })).json();
    found.push(...predictions.map((one) => ({ ...one, number: one.number + start })));
    place.replaceChildren(listed(names, found));
    at("state").textContent = `${Math.min(start + AT_ONCE, given.length)} of ${given.length}`;
  }
  noted(run, names, found);
  const button = made("button", { type: "button", textContent: "save this table (CSV)" });
  button.addEventListener("click", () => save("answers.csv", csv(found.map(({ number, ...one }) => ({ asked: names[number], ...one }))), "text/csv"));
  box.append(made("p", {}, button));
}

function change() {
  const run = chosen(), name = at("run").value, box = at("training"), mine = ++watching;
  at("ask").hidden = !run;
  box.hidden = Boolean(run) || !name;
  if (run) {
    at("about").textContent = `${run.ability}. ${run.parameters.toLocaleString()} parameters${run.data ? `, trained on ${run.data}` : ""}.`;
    form(run);
  } else if (name) {
    at("about").textContent = "This run is in training.";
    box.replaceChildren();
    watch(box, name, () => mine !== watching, () => list(name));
  } else at("about").textContent = "There is no run yet.";
}

/** Ask which runs there are; the one that is chosen stays so. */
async function list(keep) {
  const found = await (await call("/api/runs")).json(), before = keep ?? at("run").value, was = chosen();
  [runs, training] = [found.runs, found.training];
  at("run").replaceChildren(
    ...runs.map((one) => made("option", { value: one.name, textContent: `${one.name} (${one.task})` })),
    ...training.map((one) => made("option", { value: one.name, textContent: `${one.name} (${one.state === "training" ? "in training" : one.state})` })));
  if ([...at("run").options].some((one) => one.value === before)) at("run").value = before;
  if (!was || was.name !== at("run").value || keep) change();
}

/** New runs are listed as they come. */
async function follow() {
  for (;;) {
    await new Promise((next) => setTimeout(next, 5000));
    try {
      const found = await (await call("/api/training")).json();
      const known = [...runs.map((one) => one.name), ...training.map((one) => one.name + one.state)].join("\n");
      const now = [...found.runs, ...found.training.filter((one) => !found.runs.includes(one.name)).map((one) => one.name + one.state)].join("\n");
      if (known !== now) await list();
    } catch { /* the server is away; a question will say so */ }
  }
}

at("ask").addEventListener("submit", ask);
at("stop").addEventListener("click", () => running && running.abort());
at("run").addEventListener("change", change);
at("save").addEventListener("click", () => save("answers.jsonl", answers.map((one) => JSON.stringify(one)).join("\n") + "\n", "application/jsonl"));
at("save-csv").addEventListener("click", () => save("answers.csv", csv(answers), "text/csv"));
document.addEventListener("keydown", (pressed) => {
  if (pressed.key === "Enter" && (pressed.ctrlKey || pressed.metaKey) && !at("send").disabled) at("ask").requestSubmit();
  if (pressed.key === "Escape" && running) running.abort();
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault(); // a file that is dropped beside the form does not replace the page
    at("drop")?.classList.toggle("over", kind === "dragover");
    if (kind === "drop" && chosen() && event.dataTransfer.files.length) take([...event.dataTransfer.files], chosen().asks[0].kind);
  });
}

try {
  await list();
  follow();
} catch (error) {
  at("about").textContent = error.message;
  at("ask").hidden = true;
}
