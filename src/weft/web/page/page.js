// The page for people: a form that writes itself from what a run asks for. All texts are set as text, never as HTML.

const at = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const answers = []; // all that was answered, to be saved
let runs = [], running = null;

function made(name, props = {}, ...inside) {
  const node = Object.assign(document.createElement(name), props);
  node.append(...inside);
  return node;
}

async function call(path, options = {}) {
  const headers = { ...(options.headers || {}), ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  let words = `the server answered ${answer.status}`;
  try { words = (await answer.json()).error.message; } catch { /* no words */ }
  throw new Error(words);
}

function chosen() { return runs.find((one) => one.name === at("run").value); }

function field(label, node) { return made("p", {}, made("label", {}, label, made("br"), node)); }

function inputs(asks) {
  const box = at("input"), kind = asks.kind;
  box.replaceChildren();
  if (kind.startsWith("picture") || kind === "file") {
    const accept = kind === "file" ? asks.endings.join(",") : "image/*";
    box.append(field(asks.called, made("input", { type: "file", id: "file", accept })));
    box.append(made("div", { id: "shown" }));
    at("file").addEventListener("change", () => show(at("file").files[0], kind));
  }
  if (kind === "picture and question") box.append(field("question", made("input", { id: "question", size: 60 })));
  if (kind === "text" || kind === "place") box.append(field(asks.called, made(kind === "text" ? "textarea" : "input", { id: "text" })));
}

function show(file, kind) {
  at("shown").replaceChildren();
  if (file && kind !== "file") at("shown").append(made("img", { src: URL.createObjectURL(file), alt: file.name, height: 160 }));
}

function settings(list) {
  const box = at("settings");
  box.replaceChildren();
  for (const one of list) {
    const id = `set-${one.name}`, usual = one.default;
    let node;
    if (one.enum) node = made("select", {}, ...["", ...one.enum].map((word) => made("option", { value: word, textContent: word || `usual (${usual})` })));
    else if (one.type === "boolean") node = made("select", {}, ...["", "true", "false"].map((word) => made("option", { value: word, textContent: word || `usual (${usual})` })));
    else node = made("input", { placeholder: usual === null ? "" : String(usual), inputMode: one.type === "string" ? "text" : "decimal" });
    Object.assign(node, { id, name: one.name });
    box.append(made("label", { htmlFor: id, textContent: one.name }), node, made("small", { textContent: one.about }));
  }
}

function said() {
  const found = {};
  for (const one of chosen().settings) {
    const value = at(`set-${one.name}`).value;
    if (value !== "") found[one.name] = value;
  }
  return found;
}

function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}

async function input(asks) {
  const kind = asks.kind;
  if (kind === "text" || kind === "place") return [at("text").value, at("text").value];
  const file = at("file").files[0];
  if (!file) {
    if (asks.may_lack) return [undefined, "without an input"];
    throw new Error(`choose ${asks.called} first`);
  }
  const content = { base64: await base64(file), ending: file.name.slice(file.name.lastIndexOf(".")).toLowerCase() };
  if (kind === "picture and question") return [{ picture: content, question: at("question").value }, `${file.name}: ${at("question").value}`];
  return [content, file.name];
}

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

function drawn(one, box) {
  if (one.error) { box.append(made("pre", { className: "error", textContent: one.error.message })); return; }
  const { files = {}, number, ...values } = one;
  for (const [name, data] of Object.entries(files)) {
    if (name.endsWith(".png")) box.append(made("img", { src: `data:image/png;base64,${data}`, alt: name }));
    box.append(made("p", {}, made("a", { href: `data:application/octet-stream;base64,${data}`, download: name, textContent: `save ${name}` })));
  }
  if (typeof values.text === "string") box.append(made("pre", { textContent: values.text }));
  else if (values.label !== undefined) box.append(made("pre", { textContent: String(values.label) }));
  const shares = values.probabilities || (values.candidates && Object.fromEntries(values.candidates.map((c) => [c.token, c.probability])));
  if (shares) {
    const rows = Object.entries(shares).map(([name, share]) =>
      made("tr", {}, made("td", { textContent: name }), made("td", {}, made("meter", { value: share, max: 1 })), made("td", { textContent: `${(100 * share).toFixed(1)} %` })));
    box.append(made("table", {}, made("tbody", {}, ...rows)));
  }
  const rest = Object.fromEntries(Object.entries(values).filter(([key]) => !["text", "label", "probabilities", "candidates", "prompt", "input", "source"].includes(key)));
  if (Object.keys(rest).length) box.append(made("pre", { className: "data", textContent: JSON.stringify(rest, null, 1) }));
}

async function ask(submitted) {
  submitted.preventDefault();
  const run = chosen(), box = made("article");
  running = new AbortController();
  at("send").disabled = true;
  at("stop").disabled = false;
  at("state").textContent = "…";
  try {
    const [value, name] = await input(run.asks[0]);
    box.append(made("h2", { textContent: `${run.name}: ${name.slice(0, 80)}` }));
    at("answers").prepend(box);
    const stream = run.gives.streams;
    const body = JSON.stringify({ input: value, settings: said(), ...(stream ? { stream } : { files: true }) });
    const answer = await call(`/api/predict/${encodeURIComponent(run.name)}`, { method: "POST", body, headers: { "Content-Type": "application/json" }, signal: running.signal });
    if (run.looks) box.append(inside(run, value));
    if (stream) {
      const live = made("pre", {}, made("span", { className: "given", textContent: run.gives.continues ? value : "" }));
      box.append(live);
      for await (const one of events(answer)) {
        if (one.error) throw new Error(one.error.message);
        if (one.predictions) answers.push(...one.predictions.map((p) => ({ run: run.name, ...p })));
        else if (one.number === 0) live.append(one.text);
      }
    } else {
      const report = await answer.json();
      report.predictions.forEach((one) => drawn(one, box));
      answers.push(...report.predictions.map((p) => ({ run: run.name, asked: name, ...p })));
    }
  } catch (error) {
    if (error.name !== "AbortError") {
      if (!box.parentNode) at("answers").prepend(box);
      box.append(made("pre", { className: "error", textContent: error.message }));
    }
  } finally {
    at("send").disabled = false;
    at("stop").disabled = true;
    at("state").textContent = "";
    at("save").hidden = !answers.length;
  }
}

function inside(run, value) {
  const button = made("button", { type: "button", textContent: "look inside" }), place = made("p", {}, button);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const body = JSON.stringify({ input: value });
      const answer = await call(`/api/look/${encodeURIComponent(run.name)}`, { method: "POST", body, headers: { "Content-Type": "application/json" } });
      place.append(" ", made("a", { href: (await answer.json()).page, target: "_blank", rel: "noopener", textContent: "open what the model did" }));
    } catch (error) {
      place.append(" ", error.message);
      button.disabled = false;
    }
  });
  return place;
}

function change() {
  const run = chosen();
  at("about").textContent = `${run.ability}. ${run.parameters.toLocaleString()} parameters${run.data ? `, trained on ${run.data}` : ""}.`;
  inputs(run.asks[0]);
  settings(run.settings);
}

at("ask").addEventListener("submit", ask);
at("stop").addEventListener("click", () => running && running.abort());
at("run").addEventListener("change", change);
at("save").addEventListener("click", () => {
  const lines = answers.map((one) => JSON.stringify(one)).join("\n") + "\n";
  const link = made("a", { href: URL.createObjectURL(new Blob([lines], { type: "application/jsonl" })), download: "answers.jsonl" });
  link.click();
});
document.addEventListener("keydown", (pressed) => {
  if (pressed.key === "Enter" && (pressed.ctrlKey || pressed.metaKey) && !at("send").disabled) at("ask").requestSubmit();
});

try {
  runs = (await (await call("/api/runs")).json()).runs;
  at("run").append(...runs.map((one) => made("option", { value: one.name, textContent: `${one.name} (${one.task})` })));
  change();
} catch (error) {
  at("about").textContent = error.message;
}
