// PNG, SVG, PDF and JSON of what is shown.

import { resolved } from "./state.js";
import { reading } from "./tokens.js";

function offered(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The drawn scene as the text of an SVG file. */
export function asSvg(scene) {
  const copy = scene.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.querySelectorAll(".touch").forEach((one) => { if (one.tagName === "rect") one.remove(); else one.removeAttribute("class"); });
  return new XMLSerializer().serializeToString(copy).replace(/\x3c!--.*?-->/g, "");
}

/** A PDF of one page that is a JPEG picture, of some points wide and high. */
async function asPdf(canvas, wide, high) {
  const jpeg = new Uint8Array(await (await new Promise((give) => canvas.toBlob(give, "image/jpeg", 0.95))).arrayBuffer());
  const drawn = `q ${wide} 0 0 ${high} 0 0 cm /Im Do Q`, parts = [], places = [];
  let length = 0;
  const add = (part) => { parts.push(part); length += part.length; };
  const object = (text) => { places.push(length); add(`${places.length} 0 obj\n${text}`); };
  add("%PDF-1.4\n");
  object("<< /Type /Catalog /Pages 2 0 R >>\nendobj\n");
  object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n");
  object(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${wide} ${high}] /Contents 4 0 R /Resources << /XObject << /Im 5 0 R >> >> >>\nendobj\n`);
  object(`<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream\nendobj\n`);
  object(`<< /Type /XObject /Subtype /Image /Width ${canvas.width} /Height ${canvas.height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>\nstream\n`);
  add(jpeg);
  add("\nendstream\nendobj\n");
  const table = length;
  add(`xref\n0 6\n0000000000 65535 f \n${places.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("")}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`);
  return new Blob(parts, { type: "application/pdf" });
}

async function asPicture(scene, kind) {
  const image = new Image(), wide = scene.viewBox.baseVal.width, high = scene.viewBox.baseVal.height;
  image.src = URL.createObjectURL(new Blob([asSvg(scene)], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas"), by = Math.min(3, 8000 / Math.max(wide, high));
  canvas.width = Math.round(wide * by);
  canvas.height = Math.round(high * by);
  const context = canvas.getContext("2d");
  if (kind === "pdf") { context.fillStyle = getComputedStyle(document.body).backgroundColor; context.fillRect(0, 0, canvas.width, canvas.height); }
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return kind === "pdf" ? asPdf(canvas, wide, high) : new Promise((give) => canvas.toBlob(give, "image/png"));
}

/** What is shown as plain values: what is picked, the answer, the tokens and the weights of the picked head. */
export function asValues(view) {
  const { document, picked, head } = view, { stream, layer, head: number, token, temperature } = resolved(document, picked);
  const found = { run: document.run, task: document.task, title: document.title, answer: document.answer };
  if (!stream) return { ...found, text: document.text, tables: document.tables };
  const { group, reads, values } = reading(view), rows = [];
  for (let query = 0; query < head.queries; query++) rows.push(Array.from(head.row(query), (value) => Number(value.toFixed(5))));
  return {
    ...found, stream: stream.name, by: stream.by, layer: layer === null ? "mean" : layer + 1, head: number === null ? "mean" : number + 1, temperature,
    token: { group: token.group.name, place: token.index + 1, text: token.group.tokens[token.index] },
    [reads ? "reads" : "is read by"]: group.tokens.map((text, at) => [text, Number(values[at].toFixed(5))]),
    queries: stream.readers.tokens, keys: stream.read.tokens, weights: rows.length * head.keys <= 1e6 ? rows : "too many to list",
  };
}

/** Offer a file: "png", "svg", "pdf" or "json". */
export async function save(kind, view) {
  const name = `weft-${(view.document.task || "look").replace(/\W+/g, "-")}.${kind}`, scene = document.querySelector("svg.scene");
  if (kind === "json") return offered(name, new Blob([JSON.stringify(asValues(view), null, 1)], { type: "application/json" }));
  if (!scene) {
    const one = view.document.pictures[0];
    return one && offered(name.replace(/\w+$/, one.media.slice(6)), new Blob([Uint8Array.from(atob(one.content), (sign) => sign.charCodeAt(0))], { type: one.media }));
  }
  return offered(name, kind === "svg" ? new Blob([asSvg(scene)], { type: "image/svg+xml" }) : await asPicture(scene, kind));
}
