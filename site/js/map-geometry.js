// This module computes the map's geometry with pure functions. World coordinates are in cells from
// the upper left corner. A view is {x, y, scale}: the world point in the middle of the canvas, and
// the CSS pixels per cell.

/** Bundles per tile side at the finest level, as the bundler writes them. */
export const BUNDLES_A_TILE = 6;
/** A cell's size in the finest tiles. */
export const FINEST_CELL_PX = 8;
/** The whole world fills this share of the canvas's width or height. */
const FIT_PART = 0.96;
/** At this scale, icons of 32 pixels in cells of 36 pixels are enlarged three times. */
export const MAX_SCALE = 108;
/** 24 bundles with 11 by 11 cells. */
const MAX_CELLS_OF_BUNDLES = 2_904;
/**
 * Even a view with a few cells may touch four bundles. More than the maximum would need too many
 * requests.
 */
const BUNDLES_IN_VIEW = { min: 4, max: 100 };
/** A view with more tile pixels (67 MB) or more tiles is drawn from a coarser level. */
const MAX_TILE_PIXELS_IN_VIEW = 60 * 528 ** 2;
const MAX_TILES_IN_VIEW = 100;
/**
 * The parameter rho in van Wijk and Nuij, "Smooth and efficient zooming and panning": the larger it
 * is, the further a flight zooms out on its way.
 */
const FLIGHT_CURVE = 1.4;

/**
 * Returns the world, with its width and height in cells. For an order of the map, `tileCells` is
 * the number of cells along a tile's edge at level 0, and `finest` is the finest level that exists.
 */
export function worldOf(
  { side, grid, levels, tileCells = BUNDLES_A_TILE * grid, finest = 0, maxScale = MAX_SCALE },
  bundles,
) {
  const rows = Math.ceil(bundles / side);
  const sizes = { width: side * grid, height: rows * grid, tileCells, finest, maxScale };
  return { side, grid, levels, bundles, rows, ...sizes };
}

/** Returns the scale at which the whole world fits a canvas of {width, height} CSS pixels. */
export function fitScale(world, size) {
  const part = FIT_PART * Math.min(size.width / world.width, size.height / world.height);
  return Math.min(world.maxScale, Math.max(part, 1e-6));
}

/** Returns the view that shows the whole world. */
export function wholeView(world, size) {
  return { x: world.width / 2, y: world.height / 2, scale: fitScale(world, size) };
}

/**
 * Returns the nearest allowed view. The smaller its scale, the closer its centre must be to the
 * world's middle.
 */
export function clampView(world, size, { x, y, scale }) {
  const fit = fitScale(world, size);
  const to = Math.min(world.maxScale, Math.max(fit, scale));
  const free = Math.min(1, 1.1 * (to / fit - 1));
  const within = (value, length) =>
    Math.min(length / 2 * (1 + free), Math.max(length / 2 * (1 - free), value));
  return { x: within(x, world.width), y: within(y, world.height), scale: to };
}

/** Converts a world point to CSS pixels on the canvas. */
export function toScreen(view, size, { x, y }) {
  return {
    x: (x - view.x) * view.scale + size.width / 2,
    y: (y - view.y) * view.scale + size.height / 2,
  };
}

/** Inverse of `toScreen`. */
export function toWorld(view, size, { x, y }) {
  return {
    x: (x - size.width / 2) / view.scale + view.x,
    y: (y - size.height / 2) / view.scale + view.y,
  };
}

/** Returns the view at another scale that keeps the world point at `point` on the canvas. */
export function zoomedAt(view, size, point, scale) {
  const fixed = toWorld(view, size, point);
  return {
    x: fixed.x - (point.x - size.width / 2) / scale,
    y: fixed.y - (point.y - size.height / 2) / scale,
    scale,
  };
}

/** Returns the cell {x, y} of a bundle's slot. */
export function cellOf({ side, grid }, bundle, slot) {
  return {
    x: (bundle % side) * grid + slot % grid,
    y: Math.floor(bundle / side) * grid + Math.floor(slot / grid),
  };
}

/** Returns the {bundle, slot} at a world point, or null outside the world. */
export function tabAt(world, point) {
  const { side, grid, bundles, width } = world;
  const [x, y] = [Math.floor(point.x), Math.floor(point.y)];
  if (x < 0 || y < 0 || x >= width) return null;
  const bundle = Math.floor(y / grid) * side + Math.floor(x / grid);
  return bundle < bundles ? { bundle, slot: (y % grid) * grid + x % grid } : null;
}

/** Returns the visible part of the world as {left, top, right, bottom}, in cells. */
export function seenPart(world, view, size) {
  const start = toWorld(view, size, { x: 0, y: 0 });
  const end = toWorld(view, size, { x: size.width, y: size.height });
  const left = Math.min(world.width, Math.max(0, start.x));
  const top = Math.min(world.height, Math.max(0, start.y));
  return {
    left,
    top,
    right: Math.max(left, Math.min(world.width, end.x)),
    bottom: Math.max(top, Math.min(world.height, end.y)),
  };
}

/** Returns the length of a tile's edge at level `z`, in cells. */
export function tileSpan(world, z) {
  return world.tileCells * 2 ** z;
}

/**
 * Returns the level whose pixels are closest in size to the screen's, or a coarser one if the view
 * would need too many tiles. `ratio` is the number of device pixels per CSS pixel.
 */
export function levelFor(world, view, size, ratio) {
  const wanted = Math.round(Math.log2(FINEST_CELL_PX / (view.scale * ratio)));
  let level = Math.min(world.levels - 1, Math.max(world.finest, wanted));
  const part = seenPart(world, view, size);
  const pixels = (FINEST_CELL_PX * world.tileCells) ** 2;
  const most = Math.min(MAX_TILES_IN_VIEW, MAX_TILE_PIXELS_IN_VIEW / pixels);
  const countAt = (z) => countOf(squares(part, tileSpan(world, z)));
  while (level < world.levels - 1 && countAt(level) > most) level += 1;
  return level;
}

/** Returns the visible tiles [{z, x, y}] at level `z`, the middle ones first. */
export function tilesInView(world, view, size, z) {
  const span = tileSpan(world, z);
  return listed(squares(seenPart(world, view, size), span), span, view)
    .map(([x, y]) => ({ z, x, y }));
}

/** Returns true if icons are drawn from bundles instead of tiles. */
export function isNear(world, view, size) {
  const { min, max } = BUNDLES_IN_VIEW;
  const most = Math.min(max, Math.max(min, MAX_CELLS_OF_BUNDLES / world.grid ** 2));
  return view.scale >= FINEST_CELL_PX && world.finest === 0 &&
    countOf(squares(seenPart(world, view, size), world.grid)) <= most;
}

/** Returns the visible bundles, the middle ones first. */
export function bundlesInView(world, view, size) {
  const { grid, side, bundles } = world;
  return listed(squares(seenPart(world, view, size), grid), grid, view)
    .map(([x, y]) => y * side + x)
    .filter((bundle) => bundle < bundles);
}

/** Returns the tiles that contain a world point, one per level, the coarsest first. */
export function tilesAt(world, { x, y }) {
  const all = [];
  for (let z = world.levels - 1; z >= world.finest; z -= 1) {
    const span = tileSpan(world, z);
    all.push({ z, x: Math.floor(x / span), y: Math.floor(y / span) });
  }
  return all;
}

/** Estimates how many of `hosts` tabs are visible, assuming that all bundles are equally full. */
export function tabsInView(world, view, size, hosts) {
  const { left, top, right, bottom } = seenPart(world, view, size);
  const { grid, side, rows, bundles } = world;
  const lastTop = (rows - 1) * grid;
  const lastRight = (bundles - side * (rows - 1)) * grid;
  const full = (right - left) * Math.max(0, Math.min(bottom, lastTop) - top);
  const last = Math.max(0, Math.min(right, lastRight) - left) *
    Math.max(0, bottom - Math.max(top, lastTop));
  return Math.round(hosts * (full + last) / (bundles * grid * grid));
}

/**
 * Returns {length, at(part)}, where `at` returns the view for a `part` from 0 to 1. A long path
 * zooms out first. `length` grows with the visible distance.
 */
export function flightPath(from, to, size) {
  const across = Math.hypot(size.width, size.height);
  const [w0, w1] = [across / from.scale, across / to.scale];
  const way = Math.hypot(to.x - from.x, to.y - from.y);
  if (way < 1e-6 * w0) {
    return {
      length: Math.abs(Math.log(w1 / w0)) / FLIGHT_CURVE,
      at: (part) => ({ ...to, scale: from.scale * (to.scale / from.scale) ** part }),
    };
  }
  const curve = FLIGHT_CURVE ** 2;
  const start = (w, sign) => {
    const b = (w1 * w1 - w0 * w0 + sign * curve * curve * way * way) / (2 * w * curve * way);
    return -Math.asinh(b);
  };
  const [r0, r1] = [start(w0, 1), start(w1, -1)];
  const length = (r1 - r0) / FLIGHT_CURVE;
  const at = (part) => {
    if (part >= 1) return { ...to };
    const s = FLIGHT_CURVE * length * part + r0;
    const gone = (w0 / curve / way) * (Math.cosh(r0) * Math.tanh(s) - Math.sinh(r0));
    return {
      x: from.x + gone * (to.x - from.x),
      y: from.y + gone * (to.y - from.y),
      scale: across * Math.cosh(s) / (w0 * Math.cosh(r0)),
    };
  };
  return { length, at };
}

/**
 * Returns the squares of `span` by `span` cells that a part of the world touches, as {columns,
 * rows} with exclusive ends.
 */
function squares({ left, top, right, bottom }, span) {
  const range = (from, to) =>
    to > from ? [Math.floor(from / span), Math.ceil(to / span)] : [0, 0];
  return { columns: range(left, right), rows: range(top, bottom) };
}

function countOf({ columns, rows }) {
  return (columns[1] - columns[0]) * (rows[1] - rows[0]);
}

function listed({ columns, rows }, span, view) {
  const all = [];
  for (let y = rows[0]; y < rows[1]; y += 1) {
    for (let x = columns[0]; x < columns[1]; x += 1) all.push([x, y]);
  }
  const far = ([x, y]) => ((x + 0.5) * span - view.x) ** 2 + ((y + 0.5) * span - view.y) ** 2;
  return all.sort((a, b) => far(a) - far(b));
}
