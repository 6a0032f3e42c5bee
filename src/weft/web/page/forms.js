// The form of a run: what it asks for, by typing, choosing or dropping; its settings.

import { at, content, made } from "./made.js";

let files = [], rows = null; // what was chosen or dropped; rows of a table of texts

function field(label, node) { return made("label", { className: "field" }, label, node); }

/** Make the form that a run needs. */
export function form(run) {
  const asks = run.asks[0], kind = asks.kind, box = at("input");
  [files, rows] = [[], null];
  box.replaceChildren();
  const picture = kind.startsWith("picture"), texts = kind === "text" || kind === "place";
  if (texts) {
    box.append(field(asks.called, made(kind === "text" ? "textarea" : "input", { id: "text" })));
    if (run.settings.some((one) => one.name === "question")) box.append(field("question", made("input", { id: "question" })));
    if (kind === "text") box.append(made("label", {}, made("input", { type: "checkbox", id: "each" }), " each line is an input of its own"));
  }
  const accept = picture ? "image/*" : kind === "file" ? asks.endings.join(",") : ".csv,.tsv,.txt,.jsonl";
  const chooser = made("input", { type: "file", id: "file", accept, multiple: true }), called = texts ? "or a table (.csv, .tsv, .jsonl) or a list (.txt) of them" : asks.called;
  box.append(made("div", { id: "drop" }, field(`${called}: choose, or drop here`, chooser), made("div", { id: "shown", className: "row" })));
  chooser.addEventListener("change", () => take([...chooser.files], kind));
  if (kind === "picture and question") box.append(field("question", made("input", { id: "question" })));
  settings(run.settings.filter((one) => one.name !== "question" || !at("question")));
}

/** Files that were chosen or dropped. */
export async function take(some, kind) {
  files = some;
  rows = null;
  const shown = at("shown");
  if (kind === "text" || kind === "place") {
    rows = some.length ? (await Promise.all(some.map(texts))).flat() : null;
    shown.replaceChildren(...(rows ? [made("span", { textContent: `${some.map((one) => one.name).join(", ")}: ${rows.length} input${rows.length === 1 ? "" : "s"}` })] : []));
    return;
  }
  shown.replaceChildren(...some.slice(0, 12).map((file) => (kind.startsWith("picture") ? made("img", { src: URL.createObjectURL(file), alt: file.name, height: 120 }) : made("span", { textContent: `${file.name} (${(file.size / 1024).toFixed(0)} kB)` }))));
}

/** The texts of a table or a list: of a table the column that is called like an input, or the first. */
async function texts(file) {
  const text = (await file.text()).replace(/^\uFEFF/, ""), ending = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
  if (ending === ".jsonl") return lines(text).map((line) => { const one = JSON.parse(line); return typeof one === "string" ? one : String(one.text ?? one.source ?? one.input ?? Object.values(one)[0]); });
  if (ending !== ".csv" && ending !== ".tsv") return lines(text);
  const [head, ...rest] = cells(text, ending === ".tsv" ? "\t" : ","), named = head.findIndex((name) => ["text", "source", "input", "sentence", "prompt"].includes(name.trim().toLowerCase()));
  return (named < 0 ? (head.length === 1 ? [head, ...rest] : rest) : rest).map((row) => row[Math.max(0, named)] ?? "").filter((one) => one !== "");
}

const lines = (text) => text.split(/\r?\n/).filter((line) => line.trim() !== "");

/** The cells of a table with quotes. */
export function cells(text, mark) {
  const found = [[]];
  let cell = "", quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (quoted) {
      if (sign === '"' && text[i + 1] === '"') { cell += '"'; i += 1; } else if (sign === '"') quoted = false; else cell += sign;
    } else if (sign === '"' && cell === "") quoted = true;
    else if (sign === mark) { found.at(-1).push(cell); cell = ""; }
    else if (sign === "\n") { found.at(-1).push(cell.replace(/\r$/, "")); cell = ""; found.push([]); }
    else cell += sign;
  }
  if (cell !== "" || found.at(-1).length) found.at(-1).push(cell);
  return found.filter((row) => row.length);
}

/** What is asked: values with their names; several where a table, lines or files were given. */
export async function asked(run) {
  const asks = run.asks[0], kind = asks.kind;
  if (kind === "text" || kind === "place") {
    const question = at("question")?.value, about = (one) => (question ? { context: one, question } : one);
    const text = at("text").value, many = rows ?? (at("each")?.checked ? lines(text) : null);
    if (many) {
      if (!many.length) throw new Error("there is no input yet");
      return many.map((one) => [about(one), one]);
    }
    return [[about(text), text]];
  }
  if (!files.length) {
    if (asks.may_lack) return [[undefined, "without an input"]];
    throw new Error(`choose ${asks.called} first`);
  }
  return Promise.all(files.map(async (file) => {
    const value = await content(file);
    if (kind !== "picture and question") return [value, file.name];
    const question = at("question").value;
    return [{ picture: value, ...(question ? { question } : {}) }, `${file.name}: ${question}`];
  }));
}

function settings(list) {
  const box = at("settings");
  box.replaceChildren();
  for (const one of list) {
    const id = `set-${one.name}`, usual = one.default, words = one.enum ?? (one.type === "boolean" ? ["true", "false"] : null);
    const node = words
      ? made("select", {}, ...["", ...words].map((word) => made("option", { value: word, textContent: word || `usual (${usual})` })))
      : made("input", { placeholder: usual === null ? "" : String(usual), inputMode: ["integer", "number"].includes(one.type) ? "decimal" : "text" });
    Object.assign(node, { id, name: one.name });
    box.append(made("label", { htmlFor: id, textContent: one.name }), node, made("small", { textContent: one.about }));
  }
}

/** The settings that were typed. */
export function said(run) {
  const found = {};
  for (const one of run.settings) {
    const value = at(`set-${one.name}`)?.value ?? "";
    if (value !== "") found[one.name] = value;
  }
  return found;
}
