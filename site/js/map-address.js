// Owns the map page's formats: `map` in manifest.json, tile paths, the address. Invariants:
// external values are validated; a path stays below the site's root. Does not depend on the DOM, or
// on how a tile is drawn.

import { hostnameOf } from "./bundles.js";
import { typedHost } from "./search-keys.js";

const MAX_GRID = 100;
const MAX_LEVELS = 20;
const BACKGROUND = /^#[0-9a-f]{6}$/i;
const TILE_PATH = /^[\w-]+(?:\/[\w-]+)*\.(?:jpg|png|webp)$/;

/**
 * Reads `map` from a parsed manifest.json, whose other fields `readManifest` has read: its fields,
 * with `overrides` as a Map of paths by "z/x-y"; null if there is no valid map.
 */
export function readMap(value, { bundles }) {
  const map = value?.map;
  if (typeof map !== "object" || map === null) return null;
  const { side, grid, levels, extension, background } = map;
  const isSize = (number, most) => Number.isInteger(number) && number > 0 && number <= most;
  if (bundles === 0 || side !== Math.ceil(Math.sqrt(bundles))) return null;
  if (!isSize(grid, MAX_GRID) || !isSize(levels, MAX_LEVELS) || map.tile !== 48 * grid) return null;
  if (!["jpg", "png", "webp"].includes(extension) || !BACKGROUND.test(background)) return null;
  const overrides = new Map();
  for (const [name, path] of Object.entries(map.overrides ?? {})) {
    if (/^\d+\/\d+-\d+$/.test(name) && TILE_PATH.test(path)) overrides.set(name, path);
  }
  return {
    side, grid, levels, extension, background, overrides, hasLandmarks: map.landmarks === true,
  };
}

/** Returns a tile's path below the site's root. A takedown overrides it. */
export function tilePath(map, prefix, { z, x, y }) {
  const name = `${z}/${x}-${y}`;
  return prefix + (map.overrides.get(name) ?? `map/${name}.${map.extension}`);
}

/** Reads a location hash: {site} or {view}; {} shows the whole. */
export function readMapAddress(hash) {
  const text = hash.slice(1);
  const site = hostnameFrom(new URLSearchParams(text).get("site") ?? "");
  if (site !== "") return { site };
  const numbers = text.split(",");
  if (numbers.length !== 3 || !numbers.every((part) => /^\d{1,9}(?:\.\d{1,9})?$/.test(part))) {
    return {};
  }
  const [x, y, scale] = numbers.map(Number);
  return scale > 0 ? { view: { x, y, scale } } : {};
}

/** Writes a hash from which `readMapAddress` reads the same values, up to invisible differences. */
export function writeMapAddress({ site, view }) {
  if (site) return `#site=${site}`;
  if (!view) return "";
  // A tenth of a pixel is invisible.
  const digits = Math.max(0, Math.min(3, Math.ceil(Math.log10(10 * view.scale))));
  const short = (number, most) => String(Number(number.toFixed(most)));
  const scale = Number(view.scale.toPrecision(4)).toFixed(9).replace(/\.?0+$/, "");
  return `#${short(view.x, digits)},${short(view.y, digits)},${scale}`;
}

/** Returns the hostname in typed text in ASCII, or "". */
export function hostnameFrom(typed) {
  return hostnameOf(typedHost(typed));
}
