// Owns the arithmetic of the view: which rows to paint, how far ahead to load, where the tabs of a
// moving row are. A gap {row, px} is the room of an open site below its row.
// Must not know: the DOM, the network.

import { HIDDEN_TABS } from "./layout.js";

/** The rows painted beyond the view, at most. */
export const OVERSCAN_ROWS = 6;
/** The rows painted beyond the view, at least: a fast scroll shows no empty row. */
const MARGIN_ROWS = 3;
/** The heights of the view for which tabs are loaded ahead. */
const VIEWS_AHEAD = 3;
/** The shortest and longest time in which the tabs of a row come round once. */
const CYCLE_MS = [90_000, 150_000];

/** Returns the top of the row, in pixels below the wall's top. */
export function rowTop(row, rowHeightPx, gap = null) {
  return row * rowHeightPx + (gap && row > gap.row ? gap.px : 0);
}

/**
 * Returns the rows {first, end} in a view of `heightPx` whose top is `scrolledPx` below the wall's
 * top (negative: above it), with `overscan` more rows on both sides.
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
 * Returns the rows {first, end} to paint: the `painted` ones while they leave a margin around those
 * in `view`; else `room` rows, nearly all of them in the direction of the scroll. So rows are
 * painted several at a time, and most frames paint none.
 */
export function rowsToPaint(view, painted, room, totalRows) {
  const first = Math.max(0, view.first - MARGIN_ROWS);
  const end = Math.min(totalRows, view.end + MARGIN_ROWS);
  if (painted.end <= totalRows && first >= painted.first && end <= painted.end) return painted;
  const up = first < painted.first && end <= painted.end;
  const wished = up ? end + 1 - room : first - 1;
  const from = Math.max(0, Math.min(wished, totalRows - room));
  return { first: from, end: Math.min(totalRows, from + room) };
}

/** Returns the size of the pool of row nodes: the most rows that `rowsInView` returns. */
export function poolSize(heightPx, rowHeightPx) {
  return Math.ceil(heightPx / rowHeightPx) + 1 + 2 * OVERSCAN_ROWS;
}

/** Returns how many rows, from the top, need tabs so that scrolling does not wait for them. */
export function rowsWanted(scrolledPx, heightPx, rowHeightPx) {
  const ahead = Math.max(0, scrolledPx) + heightPx * (1 + VIEWS_AHEAD);
  return Math.ceil(ahead / rowHeightPx);
}

/**
 * Returns how a row moves, from 32 random bits: `sign` 1 (right) or -1 (left), `cycleMs`, and
 * `phase`, the part of the cycle, in [0, 1), at which it starts.
 */
export function marqueeOf(random) {
  const [least, most] = CYCLE_MS;
  return {
    sign: random & 1 ? 1 : -1,
    cycleMs: least + ((random >>> 1) % 1024) / 1023 * (most - least),
    phase: (random >>> 11) % 1024 / 1024,
  };
}

/**
 * Returns the left edge of the tab in `column` on a track of `count` tabs that has moved by
 * `shiftPx`: a tab that left at one edge comes in at the other. Right until the track has moved by
 * one more tab.
 */
export function placeOnTrack(column, count, tabPx, shiftPx, sign) {
  const cyclePx = count * tabPx;
  const lowest = sign > 0 ? -HIDDEN_TABS * tabPx : -tabPx;
  const left = column * tabPx;
  return left - Math.floor((left + shiftPx - lowest) / cyclePx) * cyclePx;
}
