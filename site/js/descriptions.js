// This module writes the tabs' accessible descriptions, because a title such as "Home" does not
// identify its site. It waits until nothing has been painted for a while, unless a tab in the row
// gets the focus earlier.

import { shownHost } from "./host-name.js";
import { withoutWww } from "./search-keys.js";
import { TAB } from "./strings.js";

const REST_MS = 200;

/** Describes a wall's painted tabs. */
export class TabDescriptions {
  #wall;
  #wordsOf;
  #timer = 0;
  #described = new WeakMap();

  /** `wordsOf(index)` returns additional text for a tab, or "". */
  constructor(wall, wordsOf) {
    this.#wall = wall;
    this.#wordsOf = wordsOf;
    wall.container.addEventListener("focusin", ({ target }) => {
      const row = wall.rowOf(wall.indexOf(target));
      row?.cells.forEach((cell) => this.#describe(cell));
    });
  }

  painted() {
    const { rows, layout } = this.#wall;
    for (const { cells } of layout.phone ? rows : []) {
      for (const cell of cells) if (cell.tab?.host.includes("xn--")) this.#describe(cell);
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      for (const { cells } of this.#wall.rows) cells.forEach((cell) => this.#describe(cell));
    }, REST_MS);
  }

  #describe({ link, tab, index }) {
    const words = tab ? this.#wordsOf(index) : "";
    const before = this.#described.get(link);
    // On phones, css/everytab.css shows the host from this attribute. Elsewhere, setting it would
    // only take time.
    const showsHost = Boolean(tab) && this.#wall.layout.phone;
    const isDescribed = before && before.tab === tab && before.words === words;
    if (isDescribed && (!showsHost || link.dataset.host)) return;
    this.#described.set(link, { tab, words });
    if (showsHost) link.dataset.host = shownHost(withoutWww(tab.host));
    const more = tab?.frameable ? "" : TAB.outside;
    link.ariaDescription = tab ? shownHost(tab.host) + words + more : "";
  }
}
