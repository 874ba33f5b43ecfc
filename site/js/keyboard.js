// This module moves the focus from tab to tab by arrow keys, Home and End, also beyond the view.

import { firstTabOfRow, rowOfTab, rowsOfTabs } from "./layout.js";
import { neighbour, scrollToShow } from "./navigation.js";

/** Moves the keyboard's focus, and scrolls to tabs. */
export class KeyboardNavigation {
  #page;
  #marquee;

  constructor(page, marquee) {
    this.#page = page;
    this.#marquee = marquee;
    page.wall.container.addEventListener("keydown", (event) => this.#press(event));
  }

  goTo(index) {
    this.scrollTo(index);
    this.#page.paint();
    this.#marquee.show(index);
    this.#page.wall.focus(index);
  }

  scrollTo(index, belowPx = 0) {
    const { layout, view, wall } = this.#page;
    const { rowHeightPx } = layout;
    const top = wall.positions.topOf(rowOfTab(layout, index));
    const bottom = top + rowHeightPx + belowPx;
    const to = scrollToShow(top, bottom, window.scrollY, view.heightPx, rowHeightPx);
    if (to !== null) window.scrollTo(0, to);
  }

  #press(event) {
    const { stream, layout, view, wall } = this.#page;
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !stream) return;
    const from = wall.indexOf(event.target);
    const firstRowInView = Math.ceil(wall.positions.rowAt(view.scrolledPx));
    const rows = rowsOfTabs(layout, stream.total, stream.ended);
    const shown = Math.min(stream.total, firstTabOfRow(layout, rows));
    let next = from < 0 && event.key.startsWith("Arrow")
      ? Math.min(firstTabOfRow(layout, firstRowInView), shown - 1)
      : neighbour(layout, from, event.key, shown);
    // For up and down only the row matters here, because its nearest tab is chosen below.
    const onward = /Left|Up/.test(event.key) ? "ArrowLeft" : "ArrowRight";
    while (next !== null && wall.closed.has(next)) next = neighbour(layout, next, onward, shown);
    if (next === null || next < 0) return;
    event.preventDefault();
    // Rows have moved, so choose the tab that is visually nearest.
    if (/Up|Down/.test(event.key) && from >= 0) {
      const nearest = this.#marquee.nearest(rowOfTab(layout, next), from);
      if (nearest >= 0) next = nearest;
    }
    if (/Home|End/.test(event.key)) {
      const edge = this.#marquee.edge(from, event.key === "End");
      if (edge >= 0) next = edge;
    }
    this.goTo(next);
  }
}
