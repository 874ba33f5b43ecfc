// A sample site's map, in the bundler's format, made on demand.

import { inflateSync } from "node:zlib";
import { generator } from "../js/stream.js";
import { BACKGROUND, BUNDLES_A_TILE, png } from "./sample.mjs";

const CELL_PX = 8;

/** `tile(z, x, y)` returns a PNG's bytes or undefined; `landmarks()` the landmarks' file. */
export function withMap(sample, { landmarks = 0 } = {}) {
  const map = { ...sample.manifest.map, ...(landmarks > 0 ? { landmarks: true } : {}) };
  let file = null;
  const icons = new Map();
  const tiles = new Map();
  const pixels = (z, x, y) => {
    const name = `${z}/${x}-${y}`;
    if (!tiles.has(name)) {
      tiles.set(name, z === 0 ? finest(sample, map, icons, x, y)
        : halved(map.tile, [0, 1].map((row) => [0, 1].map((column) =>
          pixels(z - 1, 2 * x + column, 2 * y + row)))));
    }
    return tiles.get(name);
  };
  return {
    ...sample,
    manifest: { ...sample.manifest, map },
    landmarks: landmarks > 0 ? () => (file ??= landmarkFile(sample, landmarks)) : undefined,
    tile(z, x, y) {
      const wide = BUNDLES_A_TILE * 2 ** z;
      if (z >= map.levels || x * wide >= map.side || y * wide >= map.side) return undefined;
      return png(map.tile, map.tile, rows(pixels(z, x, y), map.tile));
    },
  };
}

function landmarkFile(sample, most) {
  const random = generator(41);
  const lines = new Map();
  while (lines.size < most) {
    const bundle = Math.floor(random() * sample.manifest.bundles);
    const { entries } = sample.bundle(bundle);
    const slot = Math.floor(random() * entries.length);
    if (!entries[slot]?.icon) continue;
    const { host } = new URL(entries[slot].url);
    const rank = 3 * lines.size + 1;
    lines.set(host, `${host}\t${bundle}\t${slot}\t${rank}\t${entries[slot].icon}\n`);
  }
  return [...lines.values()].join("");
}

/** RGB: six by six bundles, each icon 8 by 8 pixels. */
function finest(sample, { side, grid, tile }, icons, x, y) {
  const pixels = new Uint8Array(tile * tile * 3);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = BACKGROUND[at % 3];
  for (let i = 0; i < BUNDLES_A_TILE ** 2; i += 1) {
    const [column, row] = [i % BUNDLES_A_TILE, Math.floor(i / BUNDLES_A_TILE)];
    const [bx, by] = [x * BUNDLES_A_TILE + column, y * BUNDLES_A_TILE + row];
    const bundle = by * side + bx;
    if (bx >= side || bundle >= sample.manifest.bundles) continue;
    sample.bundle(bundle).entries.forEach(({ icon }, slot) => {
      if (icon === "") return;
      if (!icons.has(icon)) icons.set(icon, small(icon));
      const left = (column * grid + slot % grid) * CELL_PX;
      const top = (row * grid + Math.floor(slot / grid)) * CELL_PX;
      icons.get(icon).forEach((rgb, k) => {
        const at = (top + Math.floor(k / CELL_PX)) * tile + left + k % CELL_PX;
        pixels.set(rgb, at * 3);
      });
    });
  }
  return pixels;
}

/** Returns 64 RGB pixels for an icon (RGBA, rows unfiltered). */
export function small(base64) {
  const file = Buffer.from(base64, "base64");
  const side = file.readUInt32BE(16);
  const length = file.readUInt32BE(33);
  const raw = inflateSync(file.subarray(41, 41 + length));
  const part = side / CELL_PX;
  return Array.from({ length: CELL_PX ** 2 }, (_, k) => {
    const sum = [0, 0, 0];
    for (let i = 0; i < part * part; i += 1) {
      const px = (k % CELL_PX) * part + i % part;
      const py = Math.floor(k / CELL_PX) * part + Math.floor(i / part);
      const at = py * (side * 4 + 1) + 1 + px * 4;
      const alpha = raw[at + 3] / 255;
      BACKGROUND.forEach((ground, c) => {
        sum[c] += (raw[at + c] * alpha + ground * (1 - alpha)) / (part * part);
      });
    }
    return sum.map(Math.round);
  });
}

function halved(tile, parts) {
  const pixels = new Uint8Array(tile * tile * 3);
  for (let y = 0; y < tile; y += 1) {
    for (let x = 0; x < tile; x += 1) {
      const source = parts[y < tile / 2 ? 0 : 1][x < tile / 2 ? 0 : 1];
      const from = (((2 * y) % tile) * tile + (2 * x) % tile) * 3;
      for (let c = 0; c < 3; c += 1) {
        pixels[(y * tile + x) * 3 + c] = (source[from + c] + source[from + 3 + c] +
          source[from + tile * 3 + c] + source[from + tile * 3 + 3 + c] + 2) >> 2;
      }
    }
  }
  return pixels;
}

export function rows(pixels, side) {
  const filtered = Buffer.alloc(side * (side * 4 + 1));
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      const at = y * (side * 4 + 1) + 1 + x * 4;
      filtered.set(pixels.subarray((y * side + x) * 3, (y * side + x) * 3 + 3), at);
      filtered[at + 3] = 255;
    }
  }
  return filtered;
}
