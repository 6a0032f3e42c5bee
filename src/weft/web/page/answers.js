// Answers: one as a text with its confidence and alternatives, several as a table.

import { bar, made, percent, short } from "./made.js";

const ASKED = ["prompt", "input", "source", "question", "row", "number", "files", "error"];
const SAID = ["text", "label", "tree", "answer", "value", "probabilities", "candidates", "score", "probability"];

/** What was answered, in one line. */
export function line(one) {
  if (one.error) return one.error.message;
  for (const key of ["text", "label", "answer", "tree", "value"]) if (one[key] !== undefined && one[key] !== null && typeof one[key] !== "object") return String(one[key]);
  const best = Object.entries(shares(one) ?? {})[0];
  return best ? best[0] : JSON.stringify(rest(one));
}

/** Probabilities of an answer by their names, the likeliest first. */
function shares(one) {
  const found = one.probabilities || (one.candidates && Object.fromEntries(one.candidates.map((c) => [c.token ?? c.label ?? c.text, c.probability])));
  if (!found || typeof found !== "object" || !Object.values(found).every((share) => typeof share === "number")) return null;
  return Object.fromEntries(Object.entries(found).sort((a, b) => b[1] - a[1]));
}

const rest = (one) => Object.fromEntries(Object.entries(one).filter(([key, value]) => ![...ASKED, ...SAID].includes(key) && value !== null));

/** One answer. */
export function shown(one, box) {
  if (one.error) { box.append(made("pre", { className: "error", textContent: one.error.message })); return; }
  for (const [name, data] of Object.entries(one.files ?? {})) {
    if (name.endsWith(".png")) box.append(made("img", { src: `data:image/png;base64,${data}`, alt: name }));
    box.append(made("p", {}, made("a", { href: `data:application/octet-stream;base64,${data}`, download: name, textContent: `save ${name}` })));
  }
  const said = ["text", "label", "answer", "tree", "value"].find((key) => one[key] !== undefined && one[key] !== null && typeof one[key] !== "object");
  if (said) box.append(made("pre", { className: "said", textContent: String(one[said]) }));
  if (typeof one.probability === "number" && !one.probabilities) box.append(made("p", {}, "confidence ", bar(one.probability)));
  if (typeof one.score === "number") box.append(made("p", { className: "pale", textContent: `log-probability ${short(one.score)}` }));
  const listed = Object.entries(shares(one) ?? {});
  if (listed.length) {
    const rows = listed.slice(0, 12).map(([name, share]) => made("tr", {}, made("td", { textContent: name }), made("td", {}, bar(share))));
    box.append(made("table", {}, made("caption", { className: "pale", textContent: listed.length > 12 ? `the likeliest 12 of ${listed.length}` : "" }), made("tbody", {}, ...rows)));
  }
  values(rest(one), box);
}

/** Further values: lists of like objects are tables, the rest stands as it is. */
function values(left, box) {
  for (const [name, value] of Object.entries(left)) {
    const rows = Array.isArray(value) && value.length && value.every((one) => one && typeof one === "object" && !Array.isArray(one)) ? value : null;
    if (rows) box.append(made("h3", { textContent: name }), table(Object.keys(rows[0]), rows.slice(0, 50).map((one) => Object.values(one).map(plain))));
    else if (typeof value !== "object") box.append(made("p", { className: "pale", textContent: `${name}: ${plain(value)}` }));
    else box.append(made("details", {}, made("summary", { textContent: name }), made("pre", { className: "data", textContent: JSON.stringify(value, null, 1).slice(0, 20000) })));
  }
}

function plain(value) {
  if (typeof value === "number") return short(value);
  if (value === null || typeof value !== "object") return String(value ?? "");
  const parts = Object.entries(value);
  if (!Array.isArray(value) && parts.length && parts.every(([, one]) => typeof one === "number" && one >= 0 && one <= 1)) return parts.slice(0, 5).map(([name, one]) => `${name} ${percent(one)}`).join(", ");
  return JSON.stringify(value).slice(0, 200);
}

/** Rows of cells under names. */
export function table(names, rows) {
  const cells = (kind, some) => made("tr", {}, ...some.map((text) => made(kind, { textContent: text })));
  return made("div", { className: "scroll", tabIndex: 0 }, made("table", { className: "lines" }, made("thead", {}, cells("th", names)), made("tbody", {}, ...rows.map((row) => cells("td", row)))));
}

/** Several answers as a table. */
export function listed(asked, predictions) {
  const rows = predictions.map((one) => {
    const best = Object.values(shares(one) ?? {})[0] ?? one.probability;
    return [asked[one.number] ?? "", line(one), typeof best === "number" ? percent(best) : typeof one.score === "number" ? short(one.score) : ""];
  });
  return table(["input", "answer", "confidence"], rows);
}

/** Answers as CSV: a column for each value that any of them has; signs that a spreadsheet would compute are quoted. */
export function csv(answers) {
  const names = [...new Set(answers.flatMap((one) => Object.keys(one)))].filter((name) => !["files", "number", "candidates"].includes(name));
  const cell = (value) => {
    let text = value === undefined || value === null ? "" : typeof value === "object" ? value.message ?? JSON.stringify(value) : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...answers.map((one) => names.map((name) => one[name]))].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
