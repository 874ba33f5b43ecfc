// Owns which tiles and bundles the map wants for a view, in which order, and the keys for both.
// Invariants: a flight wants only its destination, not the places that it passes; the coarsest tile
// is always wanted, so that there is always something to draw. Does not depend on the DOM, the
// network, or the drawing.

import {
  bundlesInView, isNear, levelFor, tilesAt, tilesInView, tileSpan,
} from "./map-geometry.js";

/** Returns a tile's key. */
export function tileKey({ z, x, y }) {
  return `tile ${z}/${x}-${y}`;
}

/** Returns a bundle's key. */
export function bundleKey(bundle) {
  return `bundle ${bundle}`;
}

/** Reads a key: {bundle} or {tile: {z, x, y}}. */
export function readKey(key) {
  const [what, name] = key.split(" ");
  if (what === "bundle") return { bundle: Number(name) };
  const [z, x, y] = name.split(/[/-]/).map(Number);
  return { tile: { z, x, y } };
}

/**
 * Returns what to draw in a view: {level, tiles, bundles}, the middle ones first; no bundles if the
 * view is too far away for icons.
 */
export function planOf(world, view, size, ratio) {
  const level = levelFor(world, view, size, ratio);
  const bundles = isNear(world, view, size) ? bundlesInView(world, view, size) : [];
  return { level, tiles: tilesInView(world, view, size, level), bundles };
}

/** Returns the wanted keys for a plan; `has(key)` returns true for items in memory. */
export function keysFor(world, { tiles, bundles }, has) {
  const missing = new Set(bundles.filter((bundle) => !has(bundleKey(bundle))));
  const isSeen = (tile) => bundles.length === 0 || has(tileKey(tile)) ||
    [...missing].some((bundle) => isUnder(world, tile, bundle));
  const top = { z: world.levels - 1, x: 0, y: 0 };
  return unique([top, ...tiles.filter(isSeen)].map(tileKey)
    .concat(bundles.map(bundleKey)));
}

/** Returns the wanted keys on a flight to the view `end`, while `level` is drawn. */
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
