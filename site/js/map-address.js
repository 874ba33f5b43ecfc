// This module reads `map` from manifest.json, composes tile paths, and reads and writes the map
// page's address. It accepts only paths below the site's root.

import { hostnameOf } from "./bundles.js";
import { typedHost } from "./search-keys.js";

const MAX_GRID = 100;
const MAX_LEVELS = 20;
const BACKGROUND = /^#[0-9a-f]{6}$/i;
const ORDER_NAME = /^[a-z]{1,20}$/;
const INDEX_PATH = /^map\/[a-z]+\/[\w-]+\.json$/;
const TILE_PATH = /^[\w-]+(?:\/[\w-]+)*\.(?:jpg|png|webp)$/;

/**
 * Reads `map` from a parsed manifest.json. Returns null if it is missing or invalid. `overrides`
 * becomes a Map of tile paths by "z/x-y", and `orders` a Map of index paths by name.
 */
export function readMap(value, { bundles }) {
  const map = value?.map;
  if (typeof map !== "object" || map === null) return null;
  const { side, grid, levels, extension, background } = map;
  const isSize = (number, most) => Number.isInteger(number) && number > 0 && number <= most;
  if (bundles === 0 || side !== Math.ceil(Math.sqrt(bundles))) return null;
  if (!isSize(grid, MAX_GRID) || !isSize(levels, MAX_LEVELS) || map.tile !== 48 * grid) return null;
  if (!["jpg", "png", "webp"].includes(extension) || !BACKGROUND.test(background)) return null;
  const overrides = readOverrides(map.overrides);
  const orders = new Map(Object.entries(map.orders ?? {})
    .filter(([name, path]) => ORDER_NAME.test(name) && INDEX_PATH.test(path)));
  return {
    side, grid, levels, extension, background, overrides, orders,
    hasLandmarks: map.landmarks === true,
  };
}

/** Returns a Map from a tile's name, "z/x-y", to the path of its replacement after a takedown. */
export function readOverrides(value) {
  return new Map(Object.entries(value ?? {})
    .filter(([name, path]) => /^\d+\/\d+-\d+$/.test(name) && TILE_PATH.test(path)));
}

/** Returns a tile's path, which is in `overrides` if a takedown replaced the tile. */
export function tilePath(map, prefix, { z, x, y }) {
  const name = `${z}/${x}-${y}`;
  return prefix + (map.overrides.get(name) ?? `${map.folder ?? "map/"}${name}.${map.extension}`);
}

/**
 * Returns {site}, or {order, view}. A missing order means the default order, and a missing view
 * means the whole map.
 */
export function readMapAddress(hash) {
  const text = hash.slice(1);
  const fields = new URLSearchParams(text);
  const site = hostnameFrom(fields.get("site") ?? "");
  if (site !== "") return { site };
  const order = fields.get("order") ?? "";
  if (!ORDER_NAME.test(order)) return readView(text);
  return { order, ...readView(fields.get("at") ?? "") };
}

function readView(text) {
  const numbers = text.split(",");
  if (numbers.length !== 3 || !numbers.every((part) => /^\d{1,9}(?:\.\d{1,9})?$/.test(part))) {
    return {};
  }
  const [x, y, scale] = numbers.map(Number);
  return scale > 0 ? { view: { x, y, scale } } : {};
}

/** Inverse of `readMapAddress`, except that it rounds the view by an invisible amount. */
export function writeMapAddress({ site, view, order }) {
  if (order) return `#order=${order}${view ? `&at=${viewText(view)}` : ""}`;
  if (site) return `#site=${site}`;
  return view ? `#${viewText(view)}` : "";
}

function viewText(view) {
  // A tenth of a pixel is invisible.
  const digits = Math.max(0, Math.min(3, Math.ceil(Math.log10(10 * view.scale))));
  const short = (number, most) => String(Number(number.toFixed(most)));
  const scale = Number(view.scale.toPrecision(4)).toFixed(9).replace(/\.?0+$/, "");
  return `${short(view.x, digits)},${short(view.y, digits)},${scale}`;
}

/** Returns the hostname in typed text, in ASCII, or "" if there is none. */
export function hostnameFrom(typed) {
  return hostnameOf(typedHost(typed));
}
