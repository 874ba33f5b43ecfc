// This module chooses the tiles and bundles that a view needs, in order of importance. During a
// flight, it chooses only those at the destination. The coarsest tile is always included, so that
// there is always something to draw.

import {
  bundlesInView, isNear, levelFor, tilesAt, tilesInView, tileSpan,
} from "./map-geometry.js";

/** Returns the key of a tile. */
export function tileKey({ z, x, y }) {
  return `tile ${z}/${x}-${y}`;
}

/** Returns the key of a bundle. */
export function bundleKey(bundle) {
  return `bundle ${bundle}`;
}

/** Returns {bundle} or {tile: {z, x, y}}. */
export function readKey(key) {
  const [what, name] = key.split(" ");
  if (what === "bundle") return { bundle: Number(name) };
  const [z, x, y] = name.split(/[/-]/).map(Number);
  return { tile: { z, x, y } };
}

/**
 * Returns {level, tiles, bundles}, with the middle tiles and bundles first. `bundles` is empty if
 * the view is too far away for icons.
 */
export function planOf(world, view, size, ratio) {
  const level = levelFor(world, view, size, ratio);
  const bundles = isNear(world, view, size) ? bundlesInView(world, view, size) : [];
  return { level, tiles: tilesInView(world, view, size, level), bundles };
}

/**
 * Returns the keys for a plan, the most important first. `has(key)` returns true for items in
 * memory.
 */
export function keysFor(world, { tiles, bundles }, has) {
  const missing = new Set(bundles.filter((bundle) => !has(bundleKey(bundle))));
  const isSeen = (tile) => bundles.length === 0 || has(tileKey(tile)) ||
    [...missing].some((bundle) => isUnder(world, tile, bundle));
  const top = { z: world.levels - 1, x: 0, y: 0 };
  return unique([top, ...tiles.filter(isSeen)].map(tileKey)
    .concat(bundles.map(bundleKey)));
}

/** Returns the keys for a flight to the view `end`, while tiles of `level` are drawn. */
export function keysForFlight(world, end, level, size, ratio, has) {
  const plan = planOf(world, end, size, ratio);
  const top = { z: world.levels - 1, x: 0, y: 0 };
  const onTheWay = tilesAt(world, end).filter(({ z }) => z <= level && z > plan.level);
  return unique([top, ...onTheWay].map(tileKey).concat(keysFor(world, plan, has)));
}

/** Returns the tile at level z that contains a finer tile. */
export function coarser(tile, z) {
  const factor = 2 ** (z - tile.z);
  return { z, x: Math.floor(tile.x / factor), y: Math.floor(tile.y / factor) };
}

function isUnder(world, tile, bundle) {
  const bundlesWide = tileSpan(world, tile.z) / world.grid;
  return Math.floor((bundle % world.side) / bundlesWide) === tile.x &&
    Math.floor(Math.floor(bundle / world.side) / bundlesWide) === tile.y;
}

function unique(keys) {
  return [...new Set(keys)];
}
