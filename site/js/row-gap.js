// Owns the gap between two rows in which a site is open: its height, which rows stay where they are
// on the screen while it opens, closes or changes, and the motion of the others.
// Invariants: a change reads nothing of the DOM but the scroll position and the window's size.
// Must not know: what the gap shows, how rows are drawn.

import { firstTabOfRow, rowOfTab, RowPositions } from "./layout.js";

/** The part of the window's height that an open site takes. */
const SITE_SHARE = 0.75;
/** The least height of an open site: its buttons and some of it; in a lower window one scrolls. */
const MIN_SITE_PX = 240;
/** The duration of the motion of rows to their new positions. */
const MOVE_MS = 250;

/** The gap below the row of the wall's opened tab. */
export class RowGap {
  #page;
  #element;
  /** The animations of the last change. */
  #motions = [];

  /** `page` is the object of main.js, `element` what the gap shows. */
  constructor(page, element) {
    this.#page = page;
    this.#element = element;
  }

  /** Makes the gap for the current layout and window, or removes it if no tab is open. */
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
   * Opens the gap below the row of the wall's opened tab, or closes it. The row `anchorRow` stays
   * where it is on the screen, until `scroll` is called to scroll further; what moves on the screen
   * moves slowly.
   */
  change(anchorRow, scroll = () => {}) {
    const { wall, layout, paint } = this.#page;
    const before = wall.positions;
    const beforePx = window.scrollY;
    this.update();
    const offsetPx = beforePx - before.topOf(anchorRow);
    this.#page.pendingAnchor = { tab: firstTabOfRow(layout, anchorRow), offsetPx };
    paint();
    // The next scroll position is that of `scroll`.
    this.#page.pendingAnchor = null;
    scroll();
    paint();
    void this.#moveFrom(before, beforePx);
  }

  /** Moves the painted rows to where they are from where they were on the screen. */
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
