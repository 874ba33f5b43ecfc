// Owns where hands lead: which tab a key leads to, where the view and a row's belt must be to show
// it whole, where the hover card goes.
// Must not know: the DOM; it gets and gives numbers of tabs and pixels.

import { firstTabOfRow, rowOfTab, tabsInRow } from "./layout.js";

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

/**
 * Where the view must start, in pixels below the wall's top, to show what lies from `topPx` to
 * `bottomPx` whole, with `roomPx` beyond it; null when it does already. What is higher than the
 * view is shown from its top.
 */
export function scrollToShow(topPx, bottomPx, scrolledPx, heightPx, roomPx = 0) {
  if (topPx < scrolledPx) return Math.max(0, topPx - roomPx);
  if (bottomPx <= scrolledPx + heightPx) return null;
  return Math.min(topPx, bottomPx - heightPx + roomPx);
}

/** How far the belt must move for a tab seen at `leftPx` to be whole in the row. */
export function shiftToShow(leftPx, tabPx, widthPx) {
  if (leftPx < 0) return -leftPx;
  return Math.min(0, widthPx - tabPx - leftPx);
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
