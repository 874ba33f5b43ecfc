// Owns the card beside a tab that shows its whole title and its hostname, as browsers do.
// Must not know: rows, bundles, opening.

import { cardPlace } from "./viewport.js";

const DELAY_MS = 350;
const WIDTH_PX = 288;

export class HoverCard {
  constructor(element) {
    this.element = element;
    this.part = (name) => element.querySelector(`[data-part="${name}"]`);
    this.timer = 0;
  }

  /** Shows the card for the tab drawn by `link`: at once where one is already shown. */
  show(link, tab) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#place(link, tab), this.element.hidden ? DELAY_MS : 0);
  }

  hide() {
    clearTimeout(this.timer);
    this.element.hidden = true;
  }

  #place(link, tab) {
    const box = link.getBoundingClientRect();
    const place = cardPlace(box, WIDTH_PX, document.documentElement.clientWidth, innerHeight);
    this.part("title").textContent = tab.title;
    this.part("host").textContent = tab.host;
    this.part("outside").hidden = tab.frameable;
    const { style } = this.element;
    style.left = `${place.left}px`;
    style.top = place.top === undefined ? "auto" : `${place.top}px`;
    style.bottom = place.bottom === undefined ? "auto" : `${place.bottom}px`;
    this.element.hidden = false;
  }
}
