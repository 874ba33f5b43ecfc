// This module keeps one tab, the anchor, at its screen position while the layout changes. It also
// moves the wall's origin, because browsers limit how tall an element can be.

import { firstTabOfRow, MAX_WALL_PX, rowOfTab, RowPositions } from "./layout.js";
import { WALL } from "./strings.js";

/** Keeps the visible rows in their positions. */
export class ScrollAnchor {
  #page;
  #onMoved;
  #isTold = false;

  /** `onMoved` is called when the wall's origin has moved. */
  constructor(page, onMoved) {
    this.#page = page;
    this.#onMoved = onMoved;
  }

  /**
   * Returns {tab, offsetPx} for the open or focused tab if it is visible, otherwise for the first
   * tab in the row at the view's top.
   */
  ofView() {
    const { wall, layout, view } = this.#page;
    const { positions, opened } = wall;
    const { first, end } = positions.rowsIn(window.scrollY, view.heightPx);
    const tab = [opened, wall.indexOf(document.activeElement)].find((one) => {
      const row = one < 0 ? -1 : rowOfTab(layout, one);
      // If the open tab's row is right above the view, its site is visible.
      return row >= 0 && row >= first - 1 && row < end;
    }) ?? firstTabOfRow(layout, first);
    return { tab, offsetPx: window.scrollY - positions.topOf(rowOfTab(layout, tab)) };
  }

  go(rows) {
    const { stream, layout, pendingAnchor } = this.#page;
    const { tab, offsetPx } = pendingAnchor;
    const row = rowOfTab(layout, tab);
    const canWait = !stream.ended && stream.trouble === "" && window.scrollY === 0;
    // The page can be scrolled to this row only once there are enough rows below it.
    if (canWait && row + window.innerHeight / layout.rowHeightPx >= rows) return;
    this.#page.pendingAnchor = null;
    if (row < rows) this.#scrollTo(row, offsetPx);
  }

  #sayWhy() {
    const { notify, stream, manifest, address, pendingAnchor, view } = this.#page;
    const { tab } = address;
    const isAtTop = view.scrolledPx <= 0 && !pendingAnchor && tab > 0 && tab >= stream.total;
    if (isAtTop === this.#isTold) return;
    this.#isTold = isAtTop;
    const name = WALL.tab(tab + 1);
    const isNone = stream.ended || (manifest.hosts > 0 && tab >= manifest.hosts);
    notify(!isAtTop ? ""
      : isNone ? WALL.noSuchTab(name)
        : stream.trouble ? WALL.tabNotLoaded(name)
          : WALL.tabTooFar(name));
  }

  /**
   * Must be called after each painting. Moves the wall's origin when the view approaches an end.
   */
  painted() {
    this.#sayWhy();
    const { view, wall } = this.#page;
    const { positions } = wall;
    // This uses the position read before painting, because reading it now would force a new layout.
    const { row, offsetPx } = positions.anchorAt(view.scrolledPx);
    if (originFor(row, positions) === positions.origin) return;
    this.#scrollTo(row, offsetPx);
    this.#page.paint();
  }

  #scrollTo(row, offsetPx) {
    const { wall, updateRows } = this.#page;
    const { rowHeightPx, gap, origin } = wall.positions;
    const next = originFor(row, wall.positions);
    if (next !== origin) {
      wall.setPositions(new RowPositions(rowHeightPx, gap, next));
      this.#onMoved();
      updateRows();
    }
    window.scrollTo(0, wall.positions.topOf(row) + offsetPx);
  }
}

/**
 * Returns the current origin unless `row` is near an end of the wall; then one that places `row` in
 * its middle.
 */
export function originFor(row, { rowHeightPx, origin }) {
  const most = MAX_WALL_PX / rowHeightPx;
  const part = (row - origin) / most;
  if (part < 3 / 4 && (part > 1 / 8 || origin === 0)) return origin;
  return Math.max(0, Math.round(row - most / 2));
}
