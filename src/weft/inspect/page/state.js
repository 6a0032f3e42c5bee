// What is picked: it stands in the address, so that a link or a saved file opens where it was.

const NAMES = ["stream", "layer", "head", "token", "side", "t", "view", "colour", "theme", "turn", "overlay", "compare", "sweep", "cell", "panel"];

/** Values of the address after its #. */
export function fromAddress(hash) {
  const found = {};
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) if (NAMES.includes(name)) found[name] = value;
  return found;
}

/** What is picked as an address. */
export function toAddress(picked) {
  const parts = new URLSearchParams();
  for (const name of NAMES) if (picked[name] !== undefined && picked[name] !== "") parts.set(name, picked[name]);
  return `#${parts}`;
}

/** Numbers and tokens that are picked, held to what the document has. */
export function resolved(document, picked) {
  const stream = document.streams.find((one) => one.name === picked.stream) ?? document.streams[0] ?? null;
  const within = (text, most) => (/^\d+$/.test(text ?? "") && text >= 1 && text <= most ? text - 1 : null);
  const layer = stream && stream.several ? within(picked.layer, stream.of.layers) : null;
  const head = stream && stream.several ? within(picked.head, stream.of.heads) : null;
  return { stream, layer, head, token: tokenOf(document, stream, picked.token), temperature: temperatureOf(picked.t) };
}

function temperatureOf(text) {
  const value = Number(text ?? 1);
  return value >= 0.1 && value <= 10 ? value : 1;
}

function tokenOf(document, stream, text) {
  if (!stream) return null;
  const dot = (text ?? "").lastIndexOf("."), name = (text ?? "").slice(0, dot), place = Number((text ?? "").slice(dot + 1));
  const groups = [stream.readers, stream.read];
  let group = groups.find((one) => one.name === name);
  if (group && place >= 1 && place <= group.tokens.length) return { group, index: place - 1 };
  group = stream.readers;
  return { group, index: Math.min(Math.max(0, (place || 1) - 1), group.tokens.length - 1) };
}

const HELP = [
  ["← →", "the token before, after"], ["↑ ↓", "another group of tokens"], ["[ ]", "the layer before, after"],
  [", .", "the head before, after"], ["m", "the mean of all heads"], ["r", "what it reads, or what reads it"],
  ["v", "another view"], ["s", "another stream"], ["o", "map on or off"], ["d", "light or dark"], ["x", "the effect of switching off"],
  ["c", "compare: beside, difference"], ["?", "this list"],
];
export const help = HELP;

/** The change of what is picked that a key asks for; null where it asks for nothing. */
export function keyed(key, document, picked, views) {
  const now = resolved(document, picked), { stream, layer, head, token } = now;
  if (key === "d") return { theme: picked.theme === "dark" ? "light" : "dark" };
  if (key === "v" && views.length > 1) return { view: views[(views.indexOf(picked.view) + 1) % views.length] };
  if (!stream) return null;
  const step = (value, by, most) => String(value === null ? (by > 0 ? 1 : most) : Math.min(most, Math.max(1, value + 1 + by)));
  const { layers, heads } = stream.of;
  if (key === "[" || key === "]") return { layer: step(layer, key === "]" ? 1 : -1, layers) };
  if (key === "," || key === ".") return { head: step(head, key === "." ? 1 : -1, heads) };
  if (key === "m") return { layer: "", head: "" };
  if (key === "r") return { side: picked.side === "read" ? "" : "read" };
  if (key === "o") return { overlay: picked.overlay === "off" ? "" : "off" };
  if (key === "c") return { compare: picked.compare === "difference" ? "" : "difference" };
  if (key === "s") {
    const next = document.streams[(document.streams.indexOf(stream) + 1) % document.streams.length];
    return { stream: next.name };
  }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const index = Math.min(token.group.tokens.length - 1, Math.max(0, token.index + (key === "ArrowRight" ? 1 : -1)));
    return { token: `${token.group.name}.${index + 1}` };
  }
  if ((key === "ArrowUp" || key === "ArrowDown") && stream.readers !== stream.read) {
    const other = token.group === stream.readers ? stream.read : stream.readers;
    return { token: `${other.name}.${Math.min(other.tokens.length, token.index + 1)}` };
  }
  return null;
}
