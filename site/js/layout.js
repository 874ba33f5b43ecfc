// Owns the geometry of the wall: which tab is in which row and column, where rows and the tabs of a
// moving row are, in pixels, which rows to paint, how far ahead to load.
// Invariants: all functions are pure and take constant time; tab -> (row, column), row -> pixels
// and back agree. Must not know: the DOM, the network, what a tab shows.

/** The rows painted beyond the view, at most. */
export const OVERSCAN_ROWS = 6;
/** The rows painted beyond the view, at least: a fast scroll shows no empty row. */
const MARGIN_ROWS = 3;
/** The heights of the view for which tabs are loaded ahead. */
const VIEWS_AHEAD = 3;
/** The shortest and longest time in which the tabs of a row come round once. */
const CYCLE_MS = [90_000, 150_000];
/** By how many tabs rows differ from the average, in turn; the sum is zero. */
const PATTERN = [0, 1, -1, 0, 2, -1, 0, -2, 1, 0, -1, 2, 0, -1, 1, -1];
/** The tabs of each row that are beyond its edges, so that it can move without a gap. */
export const HIDDEN_TABS = 2;
const MIN_SEEN_TABS = 2;
/** The part of a row's tabs that fill it when others are closed. */
const LEAST_PART_FILLED = 0.7;
/** The most pixels of a wall: Firefox limits an element's height to about 17.8 million. */
export const MAX_WALL_PX = 16_000_000;
/** The height of a row: a strip of tabs, and the edge of the toolbar below it. */
const ROW_PX = { chrome: 46, edge: 46, firefox: 48, safari: 42 };
const PHONE_ROW_PX = 66;
/** The room of the "+" behind the last tab of a row; browsers of phones have none. */
const PLUS_PX = 34;
/** The browsers whose styles the wall has. */
export const SKINS = Object.keys(ROW_PX);

/** Returns the browser's style, from navigator.userAgentData.brands (if any) and userAgent. */
export function skinOf(brands, userAgent) {
  const names = (brands ?? []).map(({ brand }) => brand).join() + userAgent;
  if (/Edg/.test(names)) return "edge";
  if (/Firefox|FxiOS/.test(names)) return "firefox";
  return /Safari/.test(names) && !/Chrom|CriOS|Android/.test(names) ? "safari" : "chrome";
}

/**
 * Returns the layout of a wall of `widthPx`: {widthPx, skin, phone, rowHeightPx, plusPx, counts,
 * starts, perCycle, maxColumns}. `counts` are the tabs of each row, repeated down the wall,
 * `starts` their prefix sums, `perCycle` their sum. `coarse` is true for touch screens;
 * `textScale` is 1 for text of 16 pixels.
 */
export function rowLayout(widthPx, coarse, skin = "chrome", textScale = 1) {
  const width = widthPx / textScale;
  const phone = coarse || width < 600;
  const base = Math.max(MIN_SEEN_TABS, Math.round(width / (width < 600 ? 176 : 172)));
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
    rowHeightPx: Math.round(textScale * (phone ? PHONE_ROW_PX : ROW_PX[skin])),
    plusPx: phone ? 0 : PLUS_PX * textScale,
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

/**
 * Returns the width of the row's tabs, in pixels: those not hidden fill the row, but where many of
 * them are `closed` the others do not grow further.
 */
export function tabPxOfRow(layout, row, closed = 0) {
  const seen = tabsInRow(layout, row) - HIDDEN_TABS;
  return layout.widthPx / Math.max(seen - closed, LEAST_PART_FILLED * seen);
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
  return full || ended ? last + 1 : last;
}

/** Returns the column of the row's active tab: each row has one, as each window has. */
export function activeColumn(layout, row) {
  return (Math.imul(row + 1, 0x9e3779b1) >>> 16) % tabsInRow(layout, row);
}

/**
 * Where rows are, in pixels below the wall's top. The wall begins with the row `origin`; `gap` is
 * the room {row, px} of an open site below a row, or null.
 */
export class RowPositions {
  constructor(rowHeightPx = 1, gap = null, origin = 0) {
    Object.assign(this, { rowHeightPx, gap, origin });
  }

  /** Returns the top of the row. */
  topOf(row) {
    const { rowHeightPx, gap, origin } = this;
    return (row - origin) * rowHeightPx + (gap && row > gap.row ? gap.px : 0);
  }

  /** Returns the row at `px`: 2.5 is the middle of row 2. A gap is the end of its row. */
  rowAt(px) {
    const { rowHeightPx, gap, origin } = this;
    const row = origin + px / rowHeightPx;
    if (!gap) return row;
    return Math.max(Math.min(row, gap.row + 1), origin + (px - gap.px) / rowHeightPx);
  }

  /** Returns the row at `px` and the distance from its top; negative in the gap above it. */
  anchorAt(px) {
    const row = Math.max(0, Math.floor(this.rowAt(px)));
    return { row, offsetPx: px - this.topOf(row) };
  }

  /** Returns the rows {first, end} in a view of `heightPx` whose top is at `px`. */
  rowsIn(px, heightPx, totalRows = Infinity) {
    const first = Math.min(Math.max(0, Math.floor(this.rowAt(px))), Math.max(0, totalRows));
    const end = Math.min(totalRows, Math.ceil(this.rowAt(px + heightPx)));
    return { first, end: Math.max(first, end) };
  }

  /** Returns how many rows need tabs so that scrolling on from `px` does not wait. */
  rowsWanted(px, heightPx) {
    return Math.ceil(this.rowAt(Math.max(0, px) + heightPx * (1 + VIEWS_AHEAD)));
  }
}

/**
 * Returns the rows {first, end} to paint: the `painted` ones while they leave a margin around those
 * in `view`; else `room` rows, most of them in the direction of the scroll, so that most frames
 * paint none.
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

/** Returns the size of the pool of row nodes: for the most rows painted at a time. */
export function poolSize(heightPx, rowHeightPx) {
  return Math.ceil(heightPx / rowHeightPx) + 1 + 2 * OVERSCAN_ROWS;
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
 * Returns the left edge of the tab in `column` on a track of `cyclePx` in a row of `widthPx` that
 * has moved by `shiftPx`: a tab that left at one edge comes in at the other. Right until the track
 * has moved by one more tab.
 */
export function leftOnTrack(column, tabPx, cyclePx, widthPx, shiftPx, sign) {
  const lowest = Math.min(sign > 0 ? widthPx - cyclePx : 0, -tabPx);
  const left = column * tabPx;
  return left - Math.floor((left + shiftPx - lowest) / cyclePx) * cyclePx;
}

/** Returns 32 bits that are always the same for a row, and look random (see MurmurHash3). */
export function bitsOfRow(row) {
  let bits = row + 1;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
