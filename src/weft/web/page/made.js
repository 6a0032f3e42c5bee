// What all parts of the page use: nodes whose texts are set as text, calls of the server, numbers in words.

const token = new URLSearchParams(location.hash.slice(1)).get("token");

export const at = (id) => document.getElementById(id);

export function made(name, props = {}, ...inside) {
  const node = Object.assign(document.createElement(name), props);
  node.append(...inside);
  return node;
}

/** A node of a drawing. */
export function drawn(name, attributes = {}, ...inside) {
  const node = document.createElementNS(at("drawing").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...inside);
  return node;
}

/** An answer of the server, or an error in its words. */
export async function call(path, options = {}) {
  const headers = { ...(options.headers || {}), ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let answer;
  try { answer = await fetch(path, { ...options, headers }); } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  let words = `the server answered ${answer.status}`;
  try { words = (await answer.json()).error.message; } catch { /* no words */ }
  throw new Error(words);
}

/** The answer to a body of JSON. */
export function post(path, body, signal) {
  return call(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });
}

/** The address of what can be asked of a run. */
export const path = (kind, run) => `/api/${kind}/${encodeURIComponent(run.name)}`;

export const short = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : Math.abs(value) >= 1000 || (value !== 0 && Math.abs(value) < 0.001) ? value.toPrecision(3) : String(Number(value.toPrecision(4))));

export const percent = (share) => `${(100 * share).toFixed(share > 0.0995 || share === 0 ? 1 : 2)} %`;

/** A share as a bar and a number. */
export function bar(share) {
  const box = drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn("rect", { width: 100 * share, height: 10 }));
  return made("span", {}, made("span", { className: "share" }, box), " ", made("span", { className: "number", textContent: percent(share) }));
}

/** Seconds in words. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Let the browser save a text. */
export function save(name, text, type) {
  const link = made("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A file as the server takes it: its bytes, with the ending of its name. */
export function content(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader(), ending = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
    reader.onload = () => done({ base64: reader.result.slice(reader.result.indexOf(",") + 1), ending });
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}
