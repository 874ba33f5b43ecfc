// Owns the view's anchor, the tab that keeps its screen position while the layout changes: finds
// it, scrolls to it, and prevents the wall from ending where browsers cannot scroll further. Does
// not depend on how rows are drawn, or on the address.

import { firstTabOfRow, MAX_WALL_PX, rowOfTab, RowPositions } from "./layout.js";
import { WALL } from "./strings.js";

/** Keeps the visible rows in their positions. */
export class ScrollAnchor {
  #page;
  #onMoved;
  #isTold = false;

  /** `page` is main.js's object; `onMoved` is called when rows get new positions. */
  constructor(page, onMoved) {
    this.#page = page;
    this.#onMoved = onMoved;
  }

  /**
   * Returns the anchor {tab, offsetPx} for the current view: the open or focused tab if it is
   * visible, otherwise the first tab in the row at the view's top.
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

  /** Scrolls to the pending anchor if its row is among the first `rows`. */
  go(rows) {
    const { stream, layout, pendingAnchor } = this.#page;
    const { tab, offsetPx } = pendingAnchor;
    const row = rowOfTab(layout, tab);
    const canWait = !stream.ended && stream.trouble === "" && window.scrollY === 0;
    // Wait until there are enough rows below that row, so that the page can be scrolled to it.
    if (canWait && row + window.innerHeight / layout.rowHeightPx >= rows) return;
    this.#page.pendingAnchor = null;
    if (row < rows) this.#scrollTo(row, offsetPx);
  }

  /** Shows why the view is at the top although the address specifies a tab further down. */
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

  /** Must be called after each painting: moves the wall's origin when its end approaches. */
  painted() {
    this.#sayWhy();
    const { view, wall } = this.#page;
    const { positions } = wall;
    // Use the known scroll position, because reading it after styles were written would compute
    // them.
    const { row, offsetPx } = positions.anchorAt(view.scrolledPx);
    if (originFor(row, positions) === positions.origin) return;
    this.#scrollTo(row, offsetPx);
    this.#page.paint();
  }

  /** Scrolls to `offsetPx` below the row's top, in a wall that has room for it. */
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
 * Returns the row with which a wall must start to have room for `row`: its current origin while the
 * row is not near an end; otherwise an origin that places the row in the wall's middle.
 */
export function originFor(row, { rowHeightPx, origin }) {
  const most = MAX_WALL_PX / rowHeightPx;
  const part = (row - origin) / most;
  if (part < 3 / 4 && (part > 1 / 8 || origin === 0)) return origin;
  return Math.max(0, Math.round(row - most / 2));
}
