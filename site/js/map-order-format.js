// This module reads the index and the places files of the map's orders, and computes the labels.

import { readOverrides } from "./map-address.js";
import { BUNDLES_A_TILE, toScreen } from "./map-geometry.js";

/** The finest level of an order, where an icon has 2 by 2 pixels. */
const FINEST_LEVEL = 2;
/**
 * At this scale, each of an icon's 2 by 2 pixels takes 12 CSS pixels. Larger pixels would show
 * nothing more.
 */
const MAX_SCALE = 24;
const MAX_AREAS = 5_000;
const AREA_NAME = /^[a-z0-9-]{1,30}$/;
/** Areas below this height on the screen, in CSS pixels, have no label. */
const MIN_LABEL_PX = 20;
const LABEL_GAP_PX = 8;

/**
 * Returns {tabs, perFile, areas: [{name, first, tabs}], overrides}, or null if the index is
 * invalid. An area with an invalid name gets the name "none".
 */
export function readOrder(value) {
  const isCount = (number) => Number.isSafeInteger(number) && number > 0;
  if (!isCount(value?.tabs) || !isCount(value.per_file) || !Array.isArray(value.areas)) return null;
  if (value.areas.length > MAX_AREAS) return null;
  const areas = [];
  let first = 0;
  for (const area of value.areas) {
    const [name, tabs] = Array.isArray(area) ? area : [];
    if (!isCount(tabs)) return null;
    const isName = typeof name === "string" && AREA_NAME.test(name);
    areas.push({ name: isName ? name : "none", first, tabs });
    first += tabs;
  }
  if (first !== value.tabs) return null;
  const overrides = readOverrides(value.overrides);
  return { tabs: value.tabs, perFile: value.per_file, areas, overrides };
}

/** Returns an order as a map for `MapView`, in which each place is a bundle with one cell. */
export function mapOfOrder(map, name, { overrides }) {
  const { side, grid, levels, extension, background } = map;
  return {
    order: name,
    side: side * grid,
    grid: 1,
    levels: Math.max(levels, FINEST_LEVEL + 1),
    tileCells: BUNDLES_A_TILE * grid,
    finest: FINEST_LEVEL,
    maxScale: MAX_SCALE,
    extension,
    background,
    overrides,
    folder: `map/${name}/`,
    ofBundles: map,
  };
}

/** Returns the place's file below the scan's prefix, and its index in this file. */
export function placesFile(name, { perFile }, place) {
  const number = Math.floor(place / perFile);
  return { path: `map/${name}/places/${number}.bin`, index: place % perFile };
}

/** Returns the {bundle, slot} at `index` in a places file, or null if it does not exist. */
export function tabInPlaces(bytes, index, { side, grid }, bundles) {
  const modulus = (side * grid) ** 2;
  let [number, distance, factor, at] = [0, 0, 1, 0];
  for (const byte of bytes) {
    distance += (byte & 0x7f) * factor;
    if (byte > 0x7f) {
      factor *= 128;
      continue;
    }
    number = (number + distance) % modulus;
    if (at === index) {
      const bundle = Math.floor(number / grid ** 2);
      return bundle < bundles ? { bundle, slot: number % grid ** 2 } : null;
    }
    [distance, factor, at] = [0, 1, at + 1];
  }
  return null;
}

/** Returns the area that contains a place, or undefined. */
export function areaAt({ areas }, place) {
  return areas.find(({ first, tabs }) => place >= first && place < first + tabs);
}

/** Returns the world's rows {top, bottom} that an area touches. */
export function rowsOf({ first, tabs }, width) {
  return { top: Math.floor(first / width), bottom: Math.ceil((first + tabs) / width) };
}

/**
 * Returns [{area, right, y}] for each area whose visible part is high enough for a label: the
 * label's right edge and its vertical middle, in CSS pixels.
 */
export function labelsFor({ areas }, width, view, size) {
  const labels = [];
  for (const area of areas) {
    const { top, bottom } = rowsOf(area, width);
    const start = toScreen(view, size, { x: 0, y: top });
    const end = toScreen(view, size, { x: width, y: bottom });
    const [from, to] = [Math.max(0, start.y), Math.min(size.height, end.y)];
    if (to - from < MIN_LABEL_PX) continue;
    labels.push({ area, right: Math.min(size.width, end.x) - LABEL_GAP_PX, y: (from + to) / 2 });
  }
  return labels;
}
