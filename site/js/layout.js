// Owns the geometry of the wall: how many tabs a row holds, which tab stands where.
// Invariant: pure and constant-time; tab -> (row, column) and back agree for every width.
// Must not know: the DOM, scrolling, what a tab shows.

/** Rows differ, as windows do, by these amounts; the sum over the pattern is zero. */
const PATTERN = [0, 1, -1, 0, 2, -1, 0, -2, 1, 0, -1, 2, 0, -1, 1, -1];
const MIN_COLUMNS = 2;
/** Firefox ends an element near 17.8 million pixels; the wall ends below that. */
export const MAX_WALL_PX = 16_000_000;

/**
 * The layout for a wall of `widthPx`. `coarse` is true where fingers do the pointing.
 * Returns {widthPx, rowHeightPx, counts, starts, perCycle, maxColumns}; `counts` repeats down
 * the wall, `starts` are its prefix sums, `perCycle` its sum.
 */
export function rowLayout(widthPx, coarse) {
  const narrow = widthPx < 600;
  const targetPx = narrow ? 150 : 164;
  const base = Math.max(MIN_COLUMNS, Math.round(widthPx / targetPx));
  const swing = base >= 12 ? 2 : 1;
  const counts = PATTERN.map((step) => {
    const wished = base < 8 ? base + Math.sign(step) : base + step * swing;
    return Math.max(MIN_COLUMNS, wished);
  });
  const starts = [];
  let perCycle = 0;
  for (const count of counts) {
    starts.push(perCycle);
    perCycle += count;
  }
  return Object.freeze({
    widthPx,
    rowHeightPx: coarse || narrow ? 52 : 43,
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

/**
 * The tab that an arrow key leads to from `tab`, or null where the key leads nowhere.
 * Left and right go on across rows; up and down keep to the nearest tab by position.
 */
export function neighbour(layout, tab, key, total) {
  const row = rowOfTab(layout, tab);
  const first = firstTabOfRow(layout, row);
  const count = tabsInRow(layout, row);
  const within = (wished) => (wished >= 0 && wished < total ? wished : null);
  switch (key) {
    case "ArrowLeft":
      return within(tab - 1);
    case "ArrowRight":
      return within(tab + 1);
    case "Home":
      return within(first);
    case "End":
      return within(Math.min(first + count, total) - 1);
    case "ArrowUp":
    case "ArrowDown": {
      const next = key === "ArrowUp" ? row - 1 : row + 1;
      if (next < 0) return null;
      const share = (tab - first + 0.5) / count;
      const nextFirst = firstTabOfRow(layout, next);
      const wished = nextFirst + Math.floor(share * tabsInRow(layout, next));
      return nextFirst < total ? Math.min(wished, total - 1) : null;
    }
    default:
      return null;
  }
}
