// This module opens the gap between two rows in which a site is shown.

import { firstTabOfRow, rowOfTab, RowPositions } from "./layout.js";

/** The gap's share of the window's height. */
const SITE_SHARE = 0.75;
/**
 * Leaves room for the viewer's buttons and a part of the site, even if the visitor has to scroll in
 * a low window.
 */
const MIN_SITE_PX = 240;
const MOVE_MS = 250;

/** The gap below the row with the wall's open tab. */
export class RowGap {
  #page;
  #element;
  #motions = [];

  /** `element` is shown in the gap. */
  constructor(page, element) {
    this.#page = page;
    this.#element = element;
  }

  /** Must be called when the layout or the window has changed. */
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
   * Opens, moves or closes the gap. The row `anchorRow` keeps its screen position; then `scroll`
   * may scroll further. Visible changes are animated.
   */
  change(anchorRow, scroll = () => {}) {
    const { wall, layout, paint } = this.#page;
    const before = wall.positions;
    const beforePx = window.scrollY;
    this.update();
    const offsetPx = beforePx - before.topOf(anchorRow);
    this.#page.pendingAnchor = { tab: firstTabOfRow(layout, anchorRow), offsetPx };
    paint();
    // The anchor must not undo what `scroll` does.
    this.#page.pendingAnchor = null;
    scroll();
    paint();
    void this.#moveFrom(before, beforePx);
  }

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
