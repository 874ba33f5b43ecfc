// A sample site's orders of the map, in the bundler's format, made on demand.

import { rows, small } from "./sample-map.mjs";
import { BACKGROUND, BUNDLES_A_TILE, png } from "./sample.mjs";

const FINEST_LEVEL = 2;
const ICON_PX = 2;
const HUES = [
  "red", "orange", "yellow", "lime", "green", "mint", "cyan", "azure", "blue", "violet", "magenta",
  "pink",
];
const AREAS = {
  colour: [...HUES, "grey", "none"],
  domain: ["com", "de", "uk", "xn--p1ai", "none"],
  rank: ["1", "1001", "none"],
};

/** The areas are in the bundler's sequence, but this does not compute the same colours. */
export function withOrders(sample, { perFile = 10_000 } = {}) {
  const { map, bundles } = sample.manifest;
  const orders = Object.fromEntries(
    Object.keys(AREAS).map((name) => [name, `map/${name}/index.json`]));
  const sorted = new Map();
  const orderOf = (name) => {
    if (!sorted.has(name)) sorted.set(name, sortedTabs(sample, name, bundles));
    return sorted.get(name);
  };
  return {
    ...sample,
    manifest: { ...sample.manifest, map: { ...map, orders } },
    places: (name) => orderOf(name).tabs,
    orderFile(path) {
      const [, name, rest] = /^map\/([a-z]+)\/(.*)$/.exec(path) ?? [];
      if (!AREAS[name]) return undefined;
      const { tabs, areas } = orderOf(name);
      if (rest === "index.json") {
        return JSON.stringify({ tabs: tabs.length, per_file: perFile, areas });
      }
      const file = /^places\/(\d+)\.bin$/.exec(rest);
      if (file) {
        const first = Number(file[1]) * perFile;
        return writePlaces(tabs.slice(first, first + perFile), map);
      }
      const tile = /^(\d+)\/(\d+)-(\d+)\.png$/.exec(rest);
      return tile ? drawTile(sample, tabs, ...tile.slice(1).map(Number)) : undefined;
    },
  };
}

function sortedTabs(sample, name, bundles) {
  const tabs = [];
  for (let bundle = 0; bundle < bundles; bundle += 1) {
    sample.bundle(bundle).entries.forEach(({ icon, url }, slot) => {
      const area = name === "colour" ? colourOf(icon)
        : name === "domain" ? domainOf(url) : rankOf(bundle, slot);
      tabs.push({ bundle, slot, area: AREAS[name].indexOf(area), icon });
    });
  }
  tabs.sort((a, b) => a.area - b.area || a.bundle - b.bundle || a.slot - b.slot);
  const areas = AREAS[name]
    .map((area, number) => [area, tabs.filter((tab) => tab.area === number).length])
    .filter(([, count]) => count > 0);
  return { tabs, areas };
}

function colourOf(icon) {
  if (icon === "") return "none";
  const [sum, pixels] = [[0, 0, 0], small(icon)];
  for (const pixel of pixels) pixel.forEach((value, c) => (sum[c] += value));
  const [red, green, blue] = sum;
  const [most, least] = [Math.max(...sum), Math.min(...sum)];
  if (most - least < 20 * pixels.length) return "grey";
  const sixth = most === red ? (green - blue) / (most - least)
    : most === green ? 2 + (blue - red) / (most - least) : 4 + (red - green) / (most - least);
  return HUES[Math.floor((sixth * 2 + 12.5) % 12)];
}

/** 20 bundles have a ranked host each. */
function rankOf(bundle, slot) {
  if (slot !== 7 || bundle >= 20) return "none";
  return bundle < 5 ? "1" : "1001";
}

function domainOf(url) {
  const domain = new URL(url).hostname.split(".").pop();
  return AREAS.domain.includes(domain) ? domain : "none";
}

function writePlaces(tabs, { side, grid }) {
  const [bytes, modulus] = [[], (side * grid) ** 2];
  let before = 0;
  for (const { bundle, slot } of tabs) {
    const number = bundle * grid ** 2 + slot;
    let left = (number - before + modulus) % modulus;
    for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
    bytes.push(left);
    before = number;
  }
  return Buffer.from(bytes);
}

function drawTile(sample, tabs, z, column, row) {
  const { side, grid, tile } = sample.manifest.map;
  const [width, part] = [side * grid, 2 ** (z - FINEST_LEVEL)];
  const cells = BUNDLES_A_TILE * grid * 2 ** z;
  if (z < FINEST_LEVEL || column * cells >= width || row * cells * width >= tabs.length) {
    return undefined;
  }
  const pixels = new Uint8Array(tile * tile * 3);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = BACKGROUND[at % 3];
  for (let y = 0; y < tile; y += 1) {
    for (let x = 0; x < tile; x += 1) {
      const cell = [column * tile + x, row * tile + y].map((px) => Math.floor(px * part / ICON_PX));
      const { icon } = (cell[0] < width && tabs[cell[1] * width + cell[0]]) || { icon: "" };
      if (icon === "") continue;
      pixels.set(quarters(icon)[(y * part % ICON_PX) * ICON_PX + x * part % ICON_PX],
        (y * tile + x) * 3);
    }
  }
  return png(tile, tile, rows(pixels, tile));
}

const quartersOf = new Map();

function quarters(icon) {
  if (!quartersOf.has(icon)) {
    const pixels = small(icon);
    const mean = (left, top) => [0, 1, 2].map((c) => {
      let sum = 0;
      for (let i = 0; i < 16; i += 1) {
        sum += pixels[(top + Math.floor(i / 4)) * 8 + left + i % 4][c];
      }
      return Math.round(sum / 16);
    });
    quartersOf.set(icon, [mean(0, 0), mean(4, 0), mean(0, 4), mean(4, 4)]);
  }
  return quartersOf.get(icon);
}
