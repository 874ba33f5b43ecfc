// This module focuses the search field when the visitor presses the "+" in the header or at the end
// of a row. Only the header's "+" is an element, for keyboards and screen readers; css/everytab.css
// draws the others.

import { SEARCH } from "./strings.js";

/** Connects each "+" to the search field. */
export class NewTab {
  #wall;
  #find;
  #drawn = new WeakMap();

  constructor(wall, find, marquee) {
    this.#wall = wall;
    this.#find = find;
    wall.container.addEventListener("click", (event) => {
      if (!this.#isOnPlus(event)) return;
      // A click on the document closes an open site, which would take the focus away.
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

  #draw(rows) {
    if (this.#wall.layout.phone) return;
    for (const { track, lefts, count } of rows) {
      if (this.#drawn.get(track) === lefts[count]) continue;
      this.#drawn.set(track, lefts[count]);
      track.style.setProperty("--plus", `${lefts[count]}px`);
    }
  }

  #isOnPlus({ target, clientX }) {
    const row = this.#wall.rows.find(({ track }) => track === target);
    const fromPx = row ? clientX - row.lefts[row.count] - row.shiftPx : -1;
    return fromPx >= 0 && fromPx < this.#wall.layout.plusPx;
  }
}
