// Owns tabs' accessible descriptions. A title such as "Home" does not identify its site, so the
// description contains the hostname, and whether the site opens in a new tab. Invariants: nothing
// is written while the page scrolls, except hosts that a card would show in Punycode; a tab is
// described before it gets the focus, so that a screen reader can read the description. Does not
// depend on why tabs are painted.

import { shownHost } from "./host-name.js";
import { withoutWww } from "./search-keys.js";
import { TAB } from "./strings.js";

/** Descriptions are written when nothing was painted for this long. */
const REST_MS = 200;

/** Describes a wall's painted tabs. */
export class TabDescriptions {
  #wall;
  #wordsOf;
  #timer = 0;
  /** For each link, the tab and the additional text in its current description. */
  #described = new WeakMap();

  /** `wall` is the TabWall; `wordsOf(index)` returns additional text for a tab. */
  constructor(wall, wordsOf) {
    this.#wall = wall;
    this.#wordsOf = wordsOf;
    wall.container.addEventListener("focusin", ({ target }) => {
      const row = wall.rowOf(wall.indexOf(target));
      row?.cells.forEach((cell) => this.#describe(cell));
    });
  }

  /** Must be called after each painting. */
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
    // A card on a phone also shows the host, from this attribute. Elsewhere the attribute would
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
