// Owns navigation by keys: arrow keys, Home and End move the focus from tab to tab, also beyond the
// view. Must not know: how a tab is drawn or opened.

import { firstTabOfRow, rowOfTab, rowsOfTabs } from "./layout.js";
import { neighbour, scrollToShow } from "./navigation.js";
import { rowTop } from "./viewport.js";

/** Moves the keyboard's focus, and scrolls to tabs. */
export class KeyboardNavigation {
  #visit;
  #marquee;

  /** `visit` is the object of main.js, `marquee` what stops the rows. */
  constructor(visit, marquee) {
    this.#visit = visit;
    this.#marquee = marquee;
    visit.wall.container.addEventListener("keydown", (event) => this.#press(event));
  }

  /** Scrolls to the tab `index`, shows it whole and focuses it. */
  goTo(index) {
    this.scrollTo(index);
    this.#visit.paint();
    this.#marquee.show(index);
    this.#visit.wall.focus(index);
  }

  /** Scrolls so that the tab's row and `belowPx` pixels below it are in view. */
  scrollTo(index, belowPx = 0) {
    const { layout, view, wall } = this.#visit;
    const { rowHeightPx } = layout;
    const top = rowTop(rowOfTab(layout, index), rowHeightPx, wall.gap);
    const bottom = top + rowHeightPx + belowPx;
    const to = scrollToShow(top, bottom, window.scrollY, view.heightPx, rowHeightPx);
    if (to !== null) window.scrollTo(0, to);
  }

  #press(event) {
    const { stream, layout, view, wall } = this.#visit;
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !stream) return;
    const from = wall.indexOf(event.target);
    const firstRowInView = Math.ceil(view.scrolledPx / layout.rowHeightPx);
    const rows = rowsOfTabs(layout, stream.total, stream.ended);
    const shown = Math.min(stream.total, firstTabOfRow(layout, rows));
    let next = from < 0 && event.key.startsWith("Arrow")
      ? Math.min(firstTabOfRow(layout, firstRowInView), shown - 1)
      : neighbour(layout, from, event.key, shown);
    if (next === null || next < 0) return;
    event.preventDefault();
    // Rows have moved, so the nearest tab is the one that is seen nearest.
    if (/Up|Down/.test(event.key) && from >= 0) {
      const nearest = this.#marquee.nearest(rowOfTab(layout, next), from);
      if (nearest >= 0) next = nearest;
    }
    this.goTo(next);
  }
}
