// The documents of a page. Weights stay packed until a head is asked for; `Head` gives rows and columns of one.

const bytesOf = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

async function inflated(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** The number that 16 bits stand for. */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, power = (bits >> 10) & 31, rest = bits & 1023;
  if (power === 31) return rest ? NaN : sign * Infinity;
  return sign * (power ? 2 ** (power - 15) * (1 + rest / 1024) : 2 ** -14 * (rest / 1024));
}

/** What each query of one head reads of each key: all numbers, row by row, or those along a list of edges. */
export class Head {
  constructor(queries, keys, values, list) {
    Object.assign(this, { queries, keys, values, list });
  }

  row(query) {
    if (!this.list) return this.values.subarray(query * this.keys, (query + 1) * this.keys);
    const found = new Float32Array(this.keys);
    this.list.query.forEach((one, at) => { if (one === query) found[this.list.key[at]] += this.values[at]; });
    return found;
  }

  column(key) {
    const found = new Float32Array(this.queries);
    if (this.list) this.list.key.forEach((one, at) => { if (one === key) found[this.list.query[at]] += this.values[at]; });
    else for (let query = 0; query < this.queries; query++) found[query] = this.values[query * this.keys + key];
    return found;
  }

  /** The largest weight; of tokens that read only what stands before them, without the first key, which all read. */
  largest(skip) {
    let most = 0;
    for (let at = 0; at < this.values.length; at++) {
      const value = Math.abs(this.values[at]);
      if (value > most && !(skip && at % this.keys < skip)) most = value;
    }
    return most;
  }

  /** softmax(scores / T) from softmax(scores): each weight to the power of 1/T, rows adding up to what they did. */
  warmed(temperature) {
    if (temperature === 1) return this;
    const values = this.values.map((value) => value ** (1 / temperature));
    const size = this.list ? this.queries : undefined, before = new Float32Array(this.queries), after = before.slice();
    const rowOf = size === undefined ? (at) => Math.floor(at / this.keys) : (at) => this.list.query[at];
    this.values.forEach((value, at) => { before[rowOf(at)] += value; after[rowOf(at)] += values[at]; });
    values.forEach((value, at) => { values[at] = after[rowOf(at)] ? (value * before[rowOf(at)]) / after[rowOf(at)] : 0; });
    return new Head(this.queries, this.keys, values, this.list);
  }

  /** This head minus another of the same shape. */
  minus(other) {
    return new Head(this.queries, this.keys, this.values.map((value, at) => value - other.values[at]), this.list);
  }
}

/** The mean of heads; those along different lists of edges are added up pair by pair. */
function mean(heads) {
  const { queries, keys, list } = heads[0];
  if (heads.every((one) => one.list === list)) {
    const values = new Float32Array(heads[0].values.length);
    for (const one of heads) one.values.forEach((value, at) => { values[at] += value / heads.length; });
    return new Head(queries, keys, values, list);
  }
  const sums = new Map();
  for (const one of heads) one.values.forEach((value, at) => {
    const pair = one.list.query[at] * keys + one.list.key[at];
    sums.set(pair, (sums.get(pair) ?? 0) + value / heads.length);
  });
  const pairs = [...sums.keys()];
  return new Head(queries, keys, Float32Array.from(sums.values()), { query: pairs.map((pair) => Math.floor(pair / keys)), key: pairs.map((pair) => pair % keys) });
}

const KEPT = 40; // heads that stay unpacked

/** One stream of a document: who reads, who is read, and the weights of all heads. */
export class Stream {
  constructor(document, given) {
    Object.assign(this, given);
    this.of = given.weights;
    this.readers = document.groups.find((group) => group.name === given.queries);
    this.read = document.groups.find((group) => group.name === given.keys);
    this.causal = this.of.form === "causal";
    this.several = this.of.layers * this.of.heads > 1;
    this.numbers = this.of.layers * this.of.heads * this.of.queries * this.of.keys;
    this.kept = new Map();
  }

  rowName(layer) { return this.rows[layer] ?? `layer ${layer + 1}`; }
  columnName(head) { return this.columns[head] ?? `head ${head + 1}`; }

  /** Which head is picked, in words. */
  inWords(layer, head) {
    if (!this.several) return this.name;
    const { layers, heads } = this.of;
    if (layer === null && head === null) return `mean of ${layers * heads} ${this.rows.length ? "parts" : "heads"}`;
    return [layer === null ? `mean of ${layers} layers` : this.rowName(layer),
      head === null ? `mean of ${heads} heads` : this.columnName(head)].join(", ");
  }

  async list(number) {
    if (this.of.form !== "edges") return undefined;
    const at = this.of.listed[number];
    this.lists ??= [];
    if (!this.lists[at]) {
      const all = new Uint32Array(await inflated(this.of.lists[at]));
      this.lists[at] = { query: all.subarray(0, all.length / 2), key: all.subarray(all.length / 2) };
    }
    return this.lists[at];
  }

  async unpacked(piece, number) {
    const { scale, queries, keys, signed, form } = this.of;
    const content = await inflated(piece), count = scale === "row" ? queries : 1;
    const scales = Float32Array.from(new Uint16Array(content, 0, count), half);
    const levels = signed ? new Int8Array(content, 2 * count) : new Uint8Array(content, 2 * count);
    const most = signed ? 127 : 255, list = await this.list(number);
    const of = (query) => scales[count === 1 ? 0 : query] / most;
    if (list) return new Head(queries, keys, Float32Array.from(levels, (level, at) => level * of(list.query[at])), list);
    const values = new Float32Array(queries * keys);
    for (let query = 0, from = 0; query < queries; query++) {
      const width = form === "causal" ? query + 1 : keys, by = of(query);
      for (let key = 0; key < width; key++) values[query * keys + key] = levels[from + key] * by;
      from += width;
    }
    return new Head(queries, keys, values);
  }

  async one(layer, head) {
    const number = layer * this.of.heads + head;
    if (!this.kept.has(number)) {
      if (this.kept.size >= KEPT && this.numbers > 2e6) this.kept.delete(this.kept.keys().next().value);
      this.kept.set(number, this.unpacked(this.of.pieces[number], number));
    }
    return this.kept.get(number);
  }

  /** A head, or the mean over layers, heads or both (null). */
  async head(layer, head) {
    const { layers, heads } = this.of;
    if (layer !== null && head !== null) return this.one(layer, head);
    if (layer === null && head === null) return (this.whole ??= this.unpacked(this.of.mean, layers * heads));
    const some = [];
    for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++) {
      if ((layer ?? l) === l && (head ?? h) === h) some.push(await this.one(l, h));
    }
    return mean(some);
  }

  /** What one query reads in each head, layer after layer; null where that would take too long. */
  async everywhere(query) {
    if (this.numbers > 8e6) return null;
    const found = [];
    for (let l = 0; l < this.of.layers; l++) for (let h = 0; h < this.of.heads; h++) found.push((await this.one(l, h)).row(query));
    return found;
  }

  /** The small pictures of all heads: rows, columns and their bytes. */
  async smallPictures() {
    const rows = Math.min(32, this.of.queries), columns = Math.min(32, this.of.keys);
    this.smalls ??= new Uint8Array(await inflated(this.of.small));
    return { rows, columns, of: (number) => this.smalls.subarray(number * rows * columns, (number + 1) * rows * columns) };
  }
}

/** A document whose streams can be asked. */
export function prepared(document) {
  document.streams = document.streams.map((one) => new Stream(document, one));
  document.group = (name) => document.groups.find((group) => group.name === name);
  return document;
}

/** The steps of one token in every head, layer after layer; unpacked once. */
export function stepsOf(steps) {
  return (steps.unpacked ??= inflated(steps.heads).then((content) => JSON.parse(new TextDecoder().decode(content))));
}

/** The documents in the text of a saved page or of a saved JSON file. */
export function documentsIn(text) {
  const inside = text.match(/\x3cscript type="application\/json" id="documents">([\s\S]*?)\x3c\/script>/);
  const found = JSON.parse(inside ? inside[1] : text);
  return (Array.isArray(found) ? found : [found]).map(prepared);
}

export const pictureAddress = (image) => `data:${image.media};base64,${image.content}`;

/** A token as it is shown: white space made visible, long ones cut. */
export function shown(token, most = 24) {
  const plain = token.replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, "�");
  const seen = plain.trim() === "" ? plain.replace(/\s/g, "␣") || "∅" : plain.trim();
  return [...seen.slice(0, 4 * most)].length > most ? `${[...seen].slice(0, most - 1).join("")}…` : seen;
}

export const percent = (share) => (share === 0 ? "0" : Math.abs(share) < 0.001 ? "<0.1 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);
export const number = (value) => (value === 0 ? "0" : Math.abs(value) >= 100 || Math.abs(value) < 0.001 ? value.toPrecision(2) : value.toFixed(3));
