// Owns the gap between two rows in which a site is open: its height, which rows keep their screen
// position while it opens, closes or changes, and how the others move. Invariant: a change reads
// only the scroll position and the window's size from the DOM. Does not depend on what the gap
// shows, or on how rows are drawn.

import { firstTabOfRow, rowOfTab, RowPositions } from "./layout.js";

/** An open site's share of the window's height. */
const SITE_SHARE = 0.75;
/**
 * Minimum height for an open site, which shows its buttons and a part of it. In a lower window the
 * visitor has to scroll.
 */
const MIN_SITE_PX = 240;
/** How long rows take to move to their new positions. */
const MOVE_MS = 250;

/** The gap below the row with the wall's open tab. */
export class RowGap {
  #page;
  #element;
  /** The last change's animations. */
  #motions = [];

  /** `page` is main.js's object; `element` is shown in the gap. */
  constructor(page, element) {
    this.#page = page;
    this.#element = element;
  }

  /** Updates the gap for the current layout and window, or removes it if no tab is open. */
  update() {
    const { wall, layout, headerPx } = this.#page;
    const { rowHeightPx } = layout;
    const most = window.innerHeight - headerPx - rowHeightPx;
    const wished = Math.min(Math.round(window.innerHeight * SITE_SHARE), most);
    const px = Math.max(MIN_SITE_PX, wished);
    const gap = wall.opened < 0 ? null : { row: rowOfTab(layout, wall.opened), px };
    const positions = new RowPositions(rowHeightPx, gap, wall.positions.origin);
    wall.setPositions(positions);
    if (!gap) return;
    this.#element.style.top = `${positions.topOf(gap.row) + rowHeightPx}px`;
    this.#element.style.height = `${px}px`;
  }

  /**
   * Opens the gap below the row with the wall's open tab, or closes it. The row `anchorRow` keeps
   * its screen position; then `scroll` may scroll further. Visible changes are animated.
   */
  change(anchorRow, scroll = () => {}) {
    const { wall, layout, paint } = this.#page;
    const before = wall.positions;
    const beforePx = window.scrollY;
    this.update();
    const offsetPx = beforePx - before.topOf(anchorRow);
    this.#page.pendingAnchor = { tab: firstTabOfRow(layout, anchorRow), offsetPx };
    paint();
    // Clear the anchor, because `scroll` determines the next scroll position.
    this.#page.pendingAnchor = null;
    scroll();
    paint();
    void this.#moveFrom(before, beforePx);
  }

  /** Animates the painted rows from their former screen positions to the current ones. */
  async #moveFrom(before, beforePx) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const { rows, positions, container } = this.#page.wall;
    const scrolledPx = window.scrollY - beforePx;
    const motions = [];
    const move = (node, row) => {
      const byPx = before.topOf(row) - positions.topOf(row) + scrolledPx;
      if (byPx === 0) return;
      const translate = [`0 ${byPx}px`, "0 0"];
      motions.push(node.animate({ translate }, { duration: MOVE_MS, easing: "ease-out" }));
    };
    for (const { node, number } of rows) move(node, number);
    if (positions.gap) move(this.#element, positions.gap.row);
    this.#motions = motions;
    container.classList.add("making-room");
    await Promise.allSettled(motions.map(({ finished }) => finished));
    if (this.#motions === motions) container.classList.remove("making-room");
  }
}
