// Owns the geometry of the wall: which browser's style it has, how many tabs each row holds, which
// tab is in which row and column.
// Invariants: all functions are pure and take constant time; tab -> (row, column) and back agree.
// Must not know: the DOM, scrolling, what a tab shows.

/** By how many tabs rows differ from the average, in turn; the sum is zero. */
const PATTERN = [0, 1, -1, 0, 2, -1, 0, -2, 1, 0, -1, 2, 0, -1, 1, -1];
/** The tabs of each row that are beyond its edges, so that it can move without a gap. */
export const HIDDEN_TABS = 2;
const MIN_SEEN_TABS = 2;
/** Firefox limits an element's height to about 17.8 million pixels. */
export const MAX_WALL_PX = 16_000_000;
/** The height of a row: a strip of tabs, and the edge of the toolbar below it. */
const ROW_PX = { chrome: 46, edge: 46, firefox: 48, safari: 42 };
const PHONE_ROW_PX = 58;

/** Returns the browser's style, from navigator.userAgentData.brands (if any) and userAgent. */
export function skinOf(brands, userAgent) {
  const names = (brands ?? []).map(({ brand }) => brand).join() + userAgent;
  if (/Edg/.test(names)) return "edge";
  if (/Firefox|FxiOS/.test(names)) return "firefox";
  return /Safari/.test(names) && !/Chrom|CriOS|Android/.test(names) ? "safari" : "chrome";
}

/**
 * Returns the layout of a wall of `widthPx`: {widthPx, skin, phone, rowHeightPx, counts, starts,
 * perCycle, maxColumns}. `counts` are the tabs of each row, repeated down the wall, `starts` their
 * prefix sums, `perCycle` their sum. `coarse` is true for touch screens.
 */
export function rowLayout(widthPx, coarse, skin = "chrome") {
  const phone = coarse || widthPx < 600;
  const base = Math.max(MIN_SEEN_TABS, Math.round(widthPx / (widthPx < 600 ? 176 : 172)));
  const swing = base >= 12 ? 2 : 1;
  const counts = PATTERN.map((step) => {
    const wished = base < 8 ? base + Math.sign(step) : base + step * swing;
    return Math.max(MIN_SEEN_TABS, wished) + HIDDEN_TABS;
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

/** Returns how many tabs a full row holds. */
export function tabsInRow(layout, row) {
  return layout.counts[row % layout.counts.length];
}

/** Returns the width of the row's tabs, in pixels: those not hidden fill the row. */
export function tabPxOfRow(layout, row) {
  return layout.widthPx / (tabsInRow(layout, row) - HIDDEN_TABS);
}

/** Returns the number of the row's first tab. */
export function firstTabOfRow(layout, row) {
  const cycle = Math.floor(row / layout.counts.length);
  return cycle * layout.perCycle + layout.starts[row % layout.counts.length];
}

/** Returns the number of the row that holds the tab. */
export function rowOfTab(layout, tab) {
  const cycle = Math.floor(tab / layout.perCycle);
  const rest = tab % layout.perCycle;
  let inCycle = layout.starts.length - 1;
  while (layout.starts[inCycle] > rest) inCycle -= 1;
  return cycle * layout.counts.length + inCycle;
}

/**
 * Returns how many rows `total` tabs fill. A last row that is not full counts only if `ended`, so
 * that no row changes after it was shown.
 */
export function rowsOfTabs(layout, total, ended) {
  if (total <= 0) return 0;
  const last = rowOfTab(layout, total - 1);
  const full = firstTabOfRow(layout, last) + tabsInRow(layout, last) === total;
  const rows = full || ended ? last + 1 : last;
  return Math.min(rows, maxRows(layout));
}

/** Returns the most rows that every browser can scroll through. */
export function maxRows(layout) {
  return Math.floor(MAX_WALL_PX / layout.rowHeightPx);
}

/** Returns the column of the row's active tab: each row has one, as each window has. */
export function activeColumn(layout, row) {
  return (Math.imul(row + 1, 0x9e3779b1) >>> 16) % tabsInRow(layout, row);
}
