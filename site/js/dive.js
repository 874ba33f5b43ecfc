// This module opens a random site further down the wall. It first loads the tabs above the site,
// and starts again from the top if the wall ends before such a site.

import { firstTabOfRow, rowOfTab, rowsOfTabs } from "./layout.js";

/** About one bundle's tabs, so that a dive loads one or two bundles. */
const MAX_TABS_PAST = 120;

/** Opens a random site that can be framed. */
export class Dive {
  #page;
  #button;
  #open;
  #wished = -1;

  /** `open(index)` opens a tab's site if it can be framed. */
  constructor(page, button, open) {
    this.#page = page;
    this.#button = button;
    this.#open = open;
    button.disabled = false;
    button.addEventListener("click", () => this.#begin());
  }

  /** Must be called after each painting, because more tabs may have been loaded. */
  painted() {
    if (this.#wished < 0) return;
    const { stream } = this.#page;
    const found = stream ? this.#find() : null;
    const isWaiting = found === null && !stream?.trouble;
    if (!isWaiting) this.#wished = -1;
    this.#button.setAttribute("aria-busy", String(isWaiting));
    if (found !== null && found >= 0) this.#open(found);
  }

  #begin() {
    const { wall, view, layout } = this.#page;
    if (!layout) return;
    const seen = firstTabOfRow(layout, Math.ceil(wall.positions.rowAt(view.scrolledPx)));
    this.#wished = 1 + Math.floor(Math.random() * MAX_TABS_PAST) +
      (wall.opened < 0 ? seen : wall.opened);
    this.painted();
  }

  /**
   * Returns the first tab at or after `#wished` that can be framed, null to wait for more tabs, or
   * -1 if there is no such tab.
   */
  #find() {
    const { stream, layout, wall } = this.#page;
    const rows = rowsOfTabs(layout, stream.total, stream.ended);
    const end = Math.min(stream.total, firstTabOfRow(layout, rows));
    const beginnings = stream.ended ? [this.#wished, 0] : [this.#wished];
    for (const beginning of beginnings) {
      for (let index = beginning; index < end; index += 1) {
        const tab = stream.at(index);
        if (tab === undefined) return null;
        const isAway = wall.closed.has(index) || index === wall.opened;
        if (tab?.frameable && !isAway) return index;
      }
    }
    if (stream.ended) return -1;
    this.#wished = Math.max(this.#wished, end);
    // Load the rest of the row, too, because a row is painted only when all its tabs are known.
    void stream.fillTo(firstTabOfRow(layout, rowOfTab(layout, this.#wished) + 2));
    return null;
  }
}
