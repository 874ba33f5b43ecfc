// Owns what is in view: which rows to paint, how far ahead to load, where to scroll and where
// the hover card goes. Must not know: the DOM, the network; it gets and gives numbers in pixels.

/** Rows painted above and below the view, so that a flick shows no gap. */
export const OVERSCAN_ROWS = 4;
/** Views loaded ahead of the one on screen. */
const VIEWS_AHEAD = 3;

/**
 * The rows to paint, [first, end), for a view that starts `scrolledPx` below the wall's top
 * (negative above it) and is `heightPx` high.
 */
export function rowsInView(scrolledPx, heightPx, rowHeightPx, totalRows) {
  const top = Math.floor(scrolledPx / rowHeightPx) - OVERSCAN_ROWS;
  const bottom = Math.ceil((scrolledPx + heightPx) / rowHeightPx) + OVERSCAN_ROWS;
  const first = Math.min(Math.max(0, top), Math.max(0, totalRows));
  return { first, end: Math.max(first, Math.min(totalRows, bottom)) };
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

/**
 * Where the view must start, in pixels below the wall's top, to show `row` whole; null when it
 * does already. One more row is shown in the direction of travel.
 */
export function scrollToShow(row, scrolledPx, heightPx, rowHeightPx) {
  const top = row * rowHeightPx;
  if (top < scrolledPx) return Math.max(0, top - rowHeightPx);
  const bottom = top + rowHeightPx;
  if (bottom > scrolledPx + heightPx) return bottom - heightPx + rowHeightPx;
  return null;
}

/**
 * Where the hover card of a tab goes: beneath it in the upper half of the view, above it in the
 * lower, inside the view on both sides. `tab` is {left, top, bottom} in the view.
 * Returns {left, top} or {left, bottom}, so that nobody has to measure the card's height.
 */
export function cardPlace(tab, cardWidthPx, viewWidthPx, viewHeightPx) {
  const marginPx = 8;
  const rightmost = Math.max(marginPx, viewWidthPx - cardWidthPx - marginPx);
  const left = Math.round(Math.min(Math.max(marginPx, tab.left), rightmost));
  if (tab.bottom <= viewHeightPx / 2) return { left, top: Math.round(tab.bottom + 4) };
  return { left, bottom: Math.round(viewHeightPx - tab.top + 4) };
}
