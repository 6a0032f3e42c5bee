// Scales and colours, light and dark. Every scale grows evenly lighter or darker, so that it is read without hues too.

const hex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));

const THEMES = {
  light: {
    ink: "#1b2733", pale: "#5b6875", edge: "#c5ced8", ground: "#ffffff", picked: "#b8430c",
    weight: ["#ffffff", "#dbe8f5", "#9cc3e4", "#4a90c9", "#1c5b9e", "#0a2f63"],
    signed: ["#a64d00", "#f2b77c", "#f7f8fa", "#8fb9e0", "#1c4f8f"],
  },
  dark: {
    ink: "#e8eef4", pale: "#a3b1bf", edge: "#3b4a59", ground: "#111a23", picked: "#ffb454",
    weight: ["#111a23", "#173a5a", "#1f6698", "#3f9fd6", "#9fd4f2", "#fdf6d0"],
    signed: ["#ffb066", "#a5652a", "#1a2530", "#2f6da8", "#8fc6f5"],
  },
};
const HEAT = ["#0a1a33", "#3a2a5c", "#a8324a", "#ee7733", "#ffc24d"];

// Okabe and Ito (2008): told apart by people who see few colours.
export const SERIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f8c99"];

export const theme = (name) => THEMES[name];

const tables = new Map();

/** 256 colours [r, g, b] of a scale of a theme: weight, signed (its middle is 0) or heat. */
export function scale(name, themeName) {
  const key = `${name} ${themeName}`;
  if (!tables.has(key)) {
    const stops = (name === "heat" ? HEAT : THEMES[themeName][name]).map(hex);
    tables.set(key, Array.from({ length: 256 }, (_, level) => {
      const at = (level / 255) * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
      return stops[low].map((value, channel) => Math.round(value + (at - low) * (stops[low + 1][channel] - value)));
    }));
  }
  return tables.get(key);
}

/** The colour of a share from 0 to 1, or of a signed one from -1 to 1, as rgb(). */
export function colour(name, share, themeName) {
  const table = scale(name, themeName), level = name === "signed" ? (share + 1) / 2 : share;
  return `rgb(${table[Math.round(255 * Math.min(1, Math.max(0, level)))].join()})`;
}

/** Black or white, whichever is read more easily on a colour rgb(). */
export function inkOn(background) {
  const [r, g, b] = background.match(/\d+/g).map((value) => (value / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#0b1016" : "#ffffff";
}

/** A picture of numbers (rows x columns), as an address; `level` gives 0 to 1 for each, `alpha` how opaque it is. */
export function painted(rows, columns, table, level, alpha) {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer), opaque = (share) => (alpha ? Math.round(255 * alpha(share)) : 255);
  const words = Uint32Array.from(table, ([r, g, b], n) => ((opaque(n / 255) << 24) | (b << 16) | (g << 8) | r) >>> 0);
  for (let at = 0; at < pixels.length; at++) pixels[at] = words[Math.max(0, Math.min(255, Math.round(255 * level(at))))];
  context.putImageData(image, 0, 0);
  return canvas;
}

/** A canvas enlarged with soft edges between its cells. */
export function smooth(canvas, side) {
  const large = document.createElement("canvas"), by = Math.max(1, side / Math.max(canvas.width, canvas.height));
  large.width = Math.round(canvas.width * by);
  large.height = Math.round(canvas.height * by);
  const context = large.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(canvas, 0, 0, large.width, large.height);
  return large;
}
