// Owns the hover card, which shows the whole title and the hostname of the tab that is pointed at
// or focused. Must not know: rows, bundles.

import { cardPosition } from "./navigation.js";

/** The delay before the first card appears. */
const DELAY_MS = 350;
/** The width of .card in css/everytab.css. */
const WIDTH_PX = 288;

/** The card that names a tab. */
export class HoverCard {
  #element;
  #timer = 0;

  /** `element` is the page's #card. */
  constructor(element) {
    this.#element = element;
  }

  /** Shows the card of `tab` beside its node `link`; without delay if a card is shown already. */
  show(link, tab) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#place(link, tab), this.#element.hidden ? DELAY_MS : 0);
  }

  /** Hides the card, or keeps it from appearing. */
  hide() {
    clearTimeout(this.#timer);
    this.#element.hidden = true;
  }

  #place(link, tab) {
    const box = link.getBoundingClientRect();
    const { left, top, bottom } =
      cardPosition(box, WIDTH_PX, document.documentElement.clientWidth, innerHeight);
    this.#part("title").textContent = tab.title;
    this.#part("host").textContent = tab.host;
    this.#part("outside").hidden = tab.frameable;
    const { style } = this.#element;
    style.left = `${left}px`;
    style.top = top === undefined ? "auto" : `${top}px`;
    style.bottom = bottom === undefined ? "auto" : `${bottom}px`;
    this.#element.hidden = false;
  }

  #part(name) {
    return this.#element.querySelector(`[data-part="${name}"]`);
  }
}
