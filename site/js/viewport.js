// Owns what is where in the view: which rows to paint, how far ahead to load, where to scroll,
// and how the tabs of a row go round. Must not know: the DOM, the network; it gets and gives
// numbers in pixels and milliseconds. A gap {row, px} is the room of an open site below its row.

import { BEYOND } from "./layout.js";

/** Rows painted above and below the view, at most, when it has just been painted. */
export const OVERSCAN_ROWS = 6;
/** So many at least, on either side, so that a flick shows no gap. */
const MARGIN_ROWS = 3;
/** Views loaded ahead of the one on screen. */
const VIEWS_AHEAD = 3;
/** The time in which a row's tabs come round once. */
const CYCLE_MS = [90_000, 150_000];

/** Where the row begins, in pixels below the wall's top. */
export function rowTop(row, rowHeightPx, gap = null) {
  return row * rowHeightPx + (gap && row > gap.row ? gap.px : 0);
}

/**
 * The rows to paint, [first, end), for a view that starts `scrolledPx` below the wall's top
 * (negative above it) and is `heightPx` high.
 */
export function rowsInView(
  scrolledPx, heightPx, rowHeightPx, totalRows, gap = null, overscan = OVERSCAN_ROWS,
) {
  const rowAt = (px) => {
    if (!gap) return px / rowHeightPx;
    const edge = gap.row + 1;
    return Math.max(Math.min(px / rowHeightPx, edge), (px - gap.px) / rowHeightPx);
  };
  const top = Math.floor(rowAt(scrolledPx)) - overscan;
  const bottom = Math.ceil(rowAt(scrolledPx + heightPx)) + overscan;
  const first = Math.min(Math.max(0, top), Math.max(0, totalRows));
  return { first, end: Math.max(first, Math.min(totalRows, bottom)) };
}

/**
 * The rows to paint, [first, end), where those `seen` are in view and those `held` are painted: the
 * same for as long as they leave a margin, then as many as there is `room` for, all but a margin
 * ahead of the one who scrolls. So rows are painted several at a time, and most frames paint none.
 */
export function rowsToPaint(seen, held, room, totalRows) {
  const first = Math.max(0, seen.first - MARGIN_ROWS);
  const end = Math.min(totalRows, seen.end + MARGIN_ROWS);
  if (held.end <= totalRows && first >= held.first && end <= held.end) return held;
  const up = first < held.first && end <= held.end;
  const wished = up ? end + 1 - room : first - 1;
  const from = Math.max(0, Math.min(wished, totalRows - room));
  return { first: from, end: Math.min(totalRows, from + room) };
}

/** The most rows that `rowsInView` can ask for: the size of the pool of row nodes. */
export function poolSize(heightPx, rowHeightPx) {
  return Math.ceil(heightPx / rowHeightPx) + 1 + 2 * OVERSCAN_ROWS;
}

/** How many rows must have their tabs, counted from the top, to scroll on without waiting. */
export function rowsWanted(scrolledPx, heightPx, rowHeightPx) {
  const ahead = Math.max(0, scrolledPx) + heightPx * (1 + VIEWS_AHEAD);
  return Math.ceil(ahead / rowHeightPx);
}

/** How a row goes round, from a number that chance gave it: {sign, cycleMs, phase}. */
export function driftOf(chance) {
  const [least, most] = CYCLE_MS;
  return {
    sign: chance & 1 ? 1 : -1,
    cycleMs: least + ((chance >>> 1) % 1024) / 1023 * (most - least),
    phase: (chance >>> 11) % 1024 / 1024,
  };
}

/**
 * Where the tab in `column` stands on its belt of `count` tabs that has moved by `shiftPx`, so
 * that it is seen where the belt is and gone round where not: the tab that left at one edge
 * comes in at the other. Holds until the belt has moved by one tab more in the sign's direction.
 */
export function placeOnBelt(column, count, tabPx, shiftPx, sign) {
  const roundPx = count * tabPx;
  const lowest = sign > 0 ? -BEYOND * tabPx : -tabPx;
  const at = column * tabPx;
  return at - Math.floor((at + shiftPx - lowest) / roundPx) * roundPx;
}
