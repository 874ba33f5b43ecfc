// This module computes the wall's geometry: each tab's row and column, the positions of rows and
// tabs in pixels, which rows to paint, and how far ahead to load. All functions are pure and take
// constant time.

/** Rows painted beyond the view, per edge on average. */
export const OVERSCAN_ROWS = 6;
/** Minimum rows beyond the view, so that a fast scroll shows no empty row. */
const MARGIN_ROWS = 3;
/** How far ahead to load tabs, in view heights. */
const VIEWS_AHEAD = 3;
/** Range of the time in which a row's tabs complete one cycle. */
const CYCLE_MS = [90_000, 150_000];
/** How many steps each row's tab count differs from the average. The sum is zero. */
const PATTERN = [0, 1, -1, 0, 2, -1, 0, -2, 1, 0, -1, 2, 0, -1, 1, -1];
/** Tabs beyond a row's edges, so that it moves without a gap. */
export const HIDDEN_TABS = 2;
const MIN_SEEN_TABS = 2;
/** Narrower walls have two visible tabs per row, so that titles have room. */
const NARROW_PX = 440;
const LEAST_PART_FILLED = 0.7;
/** Maximum wall height in pixels. Firefox allows about 17.8 million. */
export const MAX_WALL_PX = 16_000_000;
/** The height of a tab strip and the toolbar's edge below it. */
const ROW_PX = { chrome: 46, edge: 46, firefox: 48, safari: 42 };
const PHONE_ROW_PX = 66;
/** The width of the "+" after the last tab, which phone browsers do not have. */
const PLUS_PX = 34;
/** The wall's styles. */
export const SKINS = Object.keys(ROW_PX);

/** `brands` are navigator.userAgentData.brands, if the browser has them. */
export function skinOf(brands, userAgent) {
  const names = (brands ?? []).map(({ brand }) => brand).join() + userAgent;
  if (/Edg/.test(names)) return "edge";
  if (/Firefox|FxiOS/.test(names)) return "firefox";
  return /Safari/.test(names) && !/Chrom|CriOS|Android/.test(names) ? "safari" : "chrome";
}

/**
 * Returns the layout for a wall that is `widthPx` wide. `counts` are the tabs in each row, repeated
 * down the wall, `starts` their prefix sums, and `perCycle` their sum. `coarse` is true for touch
 * screens; `textScale` is 1 for 16 pixel text.
 */
export function rowLayout(widthPx, coarse, skin = "chrome", textScale = 1) {
  const width = widthPx / textScale;
  const phone = coarse || width < 600;
  const base = Math.max(MIN_SEEN_TABS, Math.round(width / (width < 600 ? 176 : 172)));
  const swing = base >= 12 ? 2 : 1;
  const counts = PATTERN.map((step) => {
    const wished = width < NARROW_PX ? 0 : base < 8 ? base + Math.sign(step) : base + step * swing;
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

/** Returns the number of tabs in a full row, including the hidden ones. */
export function tabsInRow(layout, row) {
  return layout.counts[row % layout.counts.length];
}

/**
 * Returns the width of the row's tabs. Visible tabs fill the row unless more than 30 % of them are
 * `closed`.
 */
export function tabPxOfRow(layout, row, closed = 0) {
  const seen = tabsInRow(layout, row) - HIDDEN_TABS;
  return layout.widthPx / Math.max(seen - closed, LEAST_PART_FILLED * seen);
}

/** Returns the row's first tab. */
export function firstTabOfRow(layout, row) {
  const cycle = Math.floor(row / layout.counts.length);
  return cycle * layout.perCycle + layout.starts[row % layout.counts.length];
}

/** Returns the row that contains the tab. */
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

/** Returns the column of the row's active tab. Each row has one, like a browser window. */
export function activeColumn(layout, row) {
  return (Math.imul(row + 1, 0x9e3779b1) >>> 16) % tabsInRow(layout, row);
}

/**
 * Row positions in pixels below the wall's top. The wall starts with the row `origin`; `gap` is the
 * space {row, px} for an open site below a row, or null.
 */
export class RowPositions {
  constructor(rowHeightPx = 1, gap = null, origin = 0) {
    Object.assign(this, { rowHeightPx, gap, origin });
  }

  topOf(row) {
    const { rowHeightPx, gap, origin } = this;
    return (row - origin) * rowHeightPx + (gap && row > gap.row ? gap.px : 0);
  }

  /**
   * Returns the row at `px` with its fraction, such as 2.5 for the middle of row 2. A gap is the
   * end of the row above it.
   */
  rowAt(px) {
    const { rowHeightPx, gap, origin } = this;
    const row = origin + px / rowHeightPx;
    if (!gap) return row;
    return Math.max(Math.min(row, gap.row + 1), origin + (px - gap.px) / rowHeightPx);
  }

  /**
   * Returns the row at `px` and the distance from its top, which is negative in the gap above it.
   */
  anchorAt(px) {
    const row = Math.max(0, Math.floor(this.rowAt(px)));
    return { row, offsetPx: px - this.topOf(row) };
  }

  /** Returns the rows {first, end} in a view at `px`. */
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
 * in `view`; otherwise `room` rows, mostly in the scroll direction, so that most frames paint none.
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

/** Returns the maximum number of rows that are painted at a time. */
export function poolSize(heightPx, rowHeightPx) {
  return Math.ceil(heightPx / rowHeightPx) + 1 + 2 * OVERSCAN_ROWS;
}

/**
 * Returns how a row moves: `sign` is 1 (right) or -1 (left), and `phase` is the position in the
 * cycle, in [0, 1), at which it starts. `random` has 32 bits.
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
 * Returns the left edge of the tab in `column` on a track that repeats after `cyclePx`, in a row
 * that is `widthPx` wide and has moved by `shiftPx`. A tab that left at one edge enters at the
 * other. This is valid until the track has moved by one more tab.
 */
export function leftOnTrack(column, tabPx, cyclePx, widthPx, shiftPx, sign) {
  const lowest = Math.min(sign > 0 ? widthPx - cyclePx : 0, -tabPx);
  const left = column * tabPx;
  return left - Math.floor((left + shiftPx - lowest) / cyclePx) * cyclePx;
}

/** Returns 32 bits that never change for a row, and look random (see MurmurHash3). */
export function bitsOfRow(row) {
  let bits = row + 1;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
