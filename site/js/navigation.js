// This module computes positions for the keyboard and the hover card. Its lengths are in pixels.

import { firstTabOfRow, rowOfTab, tabsInRow } from "./layout.js";

/**
 * Returns the tab that `key` (from a KeyboardEvent) leads to from `tab`, or null. Left and right
 * continue in the adjacent row, up and down lead to the same relative position in the row above or
 * below, Home and End to the row's ends.
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
 * Returns the scroll position that shows everything from `topPx` to `bottomPx`, with a margin of
 * `roomPx`, or null if it is already in view. If it is taller than the view, its top is shown.
 */
export function scrollToShow(topPx, bottomPx, scrolledPx, heightPx, roomPx = 0) {
  if (topPx < scrolledPx) return Math.max(0, topPx - roomPx);
  if (bottomPx <= scrolledPx + heightPx) return null;
  return Math.min(topPx, bottomPx - heightPx + roomPx);
}

/** Returns how far a track must move to the right (negative: to the left) to show the whole tab. */
export function shiftToShow(leftPx, tabPx, widthPx) {
  if (leftPx < 0) return -leftPx;
  return Math.min(0, widthPx - tabPx - leftPx);
}

/**
 * Returns the card's {left, top} for a tab in the view's upper half, so that it is below the tab,
 * or {left, bottom} for one in the lower half. This way the card's height need not be measured.
 */
export function cardPosition(tab, cardWidthPx, viewWidthPx, viewHeightPx) {
  const marginPx = 8;
  const rightmost = Math.max(marginPx, viewWidthPx - cardWidthPx - marginPx);
  const left = Math.round(Math.min(Math.max(marginPx, tab.left), rightmost));
  if (tab.bottom <= viewHeightPx / 2) return { left, top: Math.round(tab.bottom + 4) };
  return { left, bottom: Math.round(viewHeightPx - tab.top + 4) };
}
