// This module fetches and decodes the map's tiles, and draws a bundle's icons on one sheet.

import { bundlePath, fetchFile, readEntry } from "./bundles.js";
import { tilePath } from "./map-address.js";
import { readKey } from "./map-plan.js";
import { withoutWww } from "./search-keys.js";

/** An icon with its margin, in pixels. */
export const SHEET_CELL_PX = 36;
const ICON_PX = 32;
const MAX_SHEET_PX = 2_048;
/** Approximate memory per tab, in addition to the sheet. */
const BYTES_A_TAB = 2_000;

/**
 * Returns a `load` function for MapLoader. For an order of the map, bundles have the format
 * `map.ofBundles`.
 */
export function pictureLoader(manifest, map) {
  return (key, signal) => {
    const { bundle, tile } = readKey(key);
    return tile ? loadTile(tilePath(map, manifest.prefix, tile), signal)
      : loadSheet(bundlePath(manifest, bundle), map.ofBundles ?? map, signal);
  };
}

async function loadTile(path, signal) {
  const { value: blob, trouble } = await fetchFile(path, {
    fetcher: untilAborted(signal), read: (response) => response.blob(),
  });
  if (trouble) return { trouble };
  try {
    const value = await createImageBitmap(blob);
    return { value, bytes: value.width * value.height * 4 };
  } catch {
    return { trouble: "broken" };
  }
}

function untilAborted(signal) {
  return (url, options) =>
    fetch(url, { ...options, signal: AbortSignal.any([signal, options.signal]) });
}

/** Resolves to {value: {canvas, tabs}, bytes}, where `tabs` maps slots to tabs, or to {trouble}. */
async function loadSheet(path, map, signal) {
  const { value, trouble } = await fetchFile(path, { fetcher: untilAborted(signal) });
  if (trouble) return { trouble };
  const tabs = tabsBySlot(value, map.grid ** 2);
  if (tabs === null) return { trouble: "broken" };
  const canvas = await drawSheet(tabs, map);
  const bytes = canvas.width * canvas.height * 4 + tabs.size * BYTES_A_TAB;
  return { value: { canvas, tabs }, bytes };
}

/** Returns the valid tabs by slot, or null if `value` is not a bundle. */
export function tabsBySlot(value, slots) {
  if (!Array.isArray(value?.entries)) return null;
  const tabs = new Map();
  value.entries.slice(0, slots).forEach((entry, slot) => {
    const tab = readEntry(entry);
    if (tab) tabs.set(slot, tab);
  });
  return tabs;
}

async function drawSheet(tabs, { grid, background }) {
  const cell = Math.min(SHEET_CELL_PX, Math.floor(MAX_SHEET_PX / grid));
  const icon = cell * ICON_PX / SHEET_CELL_PX;
  const canvas = new OffscreenCanvas(cell * grid, cell * grid);
  const context = canvas.getContext("2d", { alpha: false });
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  const decoded = await Promise.all([...tabs.entries()].map(async ([slot, tab]) =>
    ({ slot, tab, image: await decode(tab.icon) })));
  for (const { slot, tab, image } of decoded) {
    const x = (slot % grid) * cell + (cell - icon) / 2;
    const y = Math.floor(slot / grid) * cell + (cell - icon) / 2;
    if (image) {
      // Without smoothing, an enlarged small icon stays sharp.
      context.imageSmoothingEnabled = image.width > icon;
      context.drawImage(image, x, y, icon, icon);
    } else {
      drawLetter(context, tab.host, x, y, icon, background);
    }
  }
  return canvas;
}

function drawLetter(context, host, x, y, side, background) {
  const isDark = parseInt(background.slice(3, 5), 16) < 0x80;
  context.fillStyle = isDark ? "#ffffff1f" : "#00000017";
  context.beginPath();
  context.roundRect(x + side / 8, y + side / 8, side * 0.75, side * 0.75, side / 6);
  context.fill();
  context.fillStyle = isDark ? "#ffffffb0" : "#000000a0";
  context.font = `600 ${Math.round(side / 2)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(withoutWww(host)[0].toUpperCase(), x + side / 2, y + side / 1.9);
}

/**
 * We do not use createImageBitmap, because storing a blob for each icon took longer than all other
 * steps together.
 */
async function decode(dataUrl) {
  if (dataUrl === "") return null;
  const image = new Image();
  image.src = dataUrl;
  try {
    await image.decode();
    return image;
  } catch {
    return null;
  }
}
