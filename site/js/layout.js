// Owns the geometry of the wall: which browser's style a row has, how many tabs it holds, which
// tab stands where.
// Invariant: pure and constant-time; tab -> (row, column) and back agree for every width.
// Must not know: the DOM, scrolling, what a tab shows.

/** Rows differ, as windows do, by these amounts; the sum over the pattern is zero. */
const PATTERN = [0, 1, -1, 0, 2, -1, 0, -2, 1, 0, -1, 2, 0, -1, 1, -1];
/** A row is a belt: so many of its tabs are beyond its edges, on their way round. */
export const BEYOND = 2;
const MIN_SEEN = 2;
/** Firefox ends an element near 17.8 million pixels; the wall ends below that. */
export const MAX_WALL_PX = 16_000_000;
/** Each browser's row: the strip with its tabs, and the edge of the toolbar below it. */
const ROW_PX = { chrome: 46, edge: 46, firefox: 48, safari: 42 };
const PHONE_ROW_PX = 58;

/** The browser whose style fits, by navigator.userAgentData (or nothing) and userAgent. */
export function skinOf(brands, userAgent) {
  const names = (brands ?? []).map(({ brand }) => brand).join() + userAgent;
  if (/Edg/.test(names)) return "edge";
  if (/Firefox|FxiOS/.test(names)) return "firefox";
  return /Safari/.test(names) && !/Chrom|CriOS|Android/.test(names) ? "safari" : "chrome";
}

/**
 * The layout for a wall of `widthPx` in the style of `skin`; `coarse` is true where fingers do
 * the pointing. Returns {widthPx, skin, phone, rowHeightPx, counts, starts, perCycle,
 * maxColumns}; `counts` repeats down the wall, `starts` are its prefix sums, `perCycle` its sum.
 */
export function rowLayout(widthPx, coarse, skin = "chrome") {
  const phone = coarse || widthPx < 600;
  const base = Math.max(MIN_SEEN, Math.round(widthPx / (widthPx < 600 ? 176 : 172)));
  const swing = base >= 12 ? 2 : 1;
  const counts = PATTERN.map((step) => {
    const wished = base < 8 ? base + Math.sign(step) : base + step * swing;
    return Math.max(MIN_SEEN, wished) + BEYOND;
  });
  const starts = [];
  let perCycle = 0;
  for (const count of counts) {
    starts.push(perCycle);
    perCycle += count;
  }
  return Object.freeze({
    widthPx,
    skin,
    phone,
    rowHeightPx: phone ? PHONE_ROW_PX : ROW_PX[skin],
    counts,
    starts,
    perCycle,
    maxColumns: Math.max(...counts),
  });
}

/** How many tabs the row holds when it is full. */
export function tabsInRow(layout, row) {
  return layout.counts[row % layout.counts.length];
}

/** How wide the row's tabs are: those not beyond its edges fill it. */
export function tabPxOfRow(layout, row) {
  return layout.widthPx / (tabsInRow(layout, row) - BEYOND);
}

/** The number of the row's first tab. */
export function firstTabOfRow(layout, row) {
  const cycle = Math.floor(row / layout.counts.length);
  return cycle * layout.perCycle + layout.starts[row % layout.counts.length];
}

/** The row in which the tab stands. */
export function rowOfTab(layout, tab) {
  const cycle = Math.floor(tab / layout.perCycle);
  const rest = tab % layout.perCycle;
  let inCycle = layout.starts.length - 1;
  while (layout.starts[inCycle] > rest) inCycle -= 1;
  return cycle * layout.counts.length + inCycle;
}

/**
 * How many rows `total` tabs make: full rows only while more tabs are to come (`ended` false),
 * so that no row changes once it has been shown; the last, shorter row counts at the end.
 */
export function rowsOfTabs(layout, total, ended) {
  if (total <= 0) return 0;
  const last = rowOfTab(layout, total - 1);
  const full = firstTabOfRow(layout, last) + tabsInRow(layout, last) === total;
  const rows = full || ended ? last + 1 : last;
  return Math.min(rows, maxRows(layout));
}

/** More rows than these no browser can scroll through. */
export function maxRows(layout) {
  return Math.floor(MAX_WALL_PX / layout.rowHeightPx);
}

/** The column drawn as the row's active tab, one in each row, as in each window. */
export function activeColumn(layout, row) {
  return (Math.imul(row + 1, 0x9e3779b1) >>> 16) % tabsInRow(layout, row);
}
