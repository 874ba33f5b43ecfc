// Owns the "+" for a new tab at the end of each row and of the header's strip, which leads to the
// search field. Only the header's "+" is an element, for keyboards and screen readers;
// css/everytab.css draws the "+" in the rows. Does not depend on what is searched, or on when rows
// move.

import { SEARCH } from "./strings.js";

/** Leads from each "+" to the search field. */
export class NewTab {
  #wall;
  #find;
  /** Where each track's "+" is drawn. */
  #drawn = new WeakMap();

  /** `wall` is the TabWall, `find` the search field; `marquee` moves the rows. */
  constructor(wall, find, marquee) {
    this.#wall = wall;
    this.#find = find;
    wall.container.addEventListener("click", (event) => {
      if (!this.#isOnPlus(event)) return;
      // Stop the event, because a click on the document closes an open site, which would take the
      // focus away.
      event.stopPropagation();
      this.#open();
    });
    const button = document.createElement("button");
    button.className = "plus";
    button.type = "button";
    button.ariaLabel = SEARCH.newTab;
    button.title = button.ariaLabel;
    button.addEventListener("click", () => this.#open());
    document.querySelector("#header .strip").append(button);
    marquee.onMoved((rows) => this.#draw(rows));
  }

  #open() {
    this.#find.focus();
    this.#find.select();
  }

  /** Draws the "+" after the last tab in each row; phone browsers have none. */
  #draw(rows) {
    if (this.#wall.layout.phone) return;
    for (const { track, lefts, count } of rows) {
      if (this.#drawn.get(track) === lefts[count]) continue;
      this.#drawn.set(track, lefts[count]);
      track.style.setProperty("--plus", `${lefts[count]}px`);
    }
  }

  /** Returns true if a click on the track hit the row's "+". */
  #isOnPlus({ target, clientX }) {
    const row = this.#wall.rows.find(({ track }) => track === target);
    const fromPx = row ? clientX - row.lefts[row.count] - row.shiftPx : -1;
    return fromPx >= 0 && fromPx < this.#wall.layout.plusPx;
  }
}
