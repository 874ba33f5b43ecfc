// Owns the card for one tab on the map: its icon at four times its size, title, host, two links.
// Invariants: text enters by textContent; when the card is closed, the focus returns to where it
// was. Does not depend on the tabs' source, or on the view.

import { shownHost } from "./host-name.js";

const TIMES = 4;
const GAP_PX = 14;

/** The card in the element `card`. */
export class TabCard {
  #card;
  #part;
  #returnTo = null;

  /** `onClose` is called when the visitor closes the card. */
  constructor(card, onClose) {
    this.#card = card;
    this.#part = (name) => card.querySelector(`[data-part="${name}"]`);
    this.#part("icon").addEventListener("load", ({ target }) => {
      target.width = target.naturalWidth * TIMES;
      target.height = target.naturalHeight * TIMES;
    });
    this.#part("close").addEventListener("click", () => onClose());
  }

  /** True while a tab is shown. */
  get isOpen() {
    return !this.#card.hidden;
  }

  /**
   * Shows a tab. With `returnTo`, the card gets the focus, and `returnTo` gets it when the card is
   * closed.
   */
  show({ url, host, title, icon }, returnTo = null) {
    const image = this.#part("icon");
    image.hidden = icon === "";
    image.src = icon || "data:,";
    this.#part("title").textContent = title;
    this.#part("host").textContent = shownHost(host);
    this.#part("wall").href = `./#site=${host}`;
    this.#part("out").href = url;
    this.#card.hidden = false;
    this.#returnTo = returnTo;
    if (returnTo) this.#part("wall").focus();
  }

  /** Hides the card. */
  hide() {
    if (this.#card.hidden) return;
    const hadFocus = this.#card.contains(document.activeElement);
    this.#card.hidden = true;
    if (hadFocus) this.#returnTo?.focus();
  }

  /** The height in CSS pixels that the card covers at the bottom; 0 if it is next to a cell. */
  get coveredPx() {
    const isBelow = this.#card.offsetWidth > 0.8 * this.#card.parentElement.clientWidth;
    return isBelow ? this.#card.offsetHeight + GAP_PX : 0;
  }

  /** Moves the card next to a cell {x, y, side} on the canvas, in CSS pixels, within `size`. */
  moveBeside({ x, y, side }, size) {
    const { offsetWidth: width, offsetHeight: height } = this.#card;
    const right = x + side + GAP_PX;
    const left = right + width <= size.width ? right : x - GAP_PX - width;
    const within = (value, most) => Math.round(Math.max(GAP_PX, Math.min(value, most - GAP_PX)));
    const to = [within(left, size.width - width), within(y - height / 3, size.height - height)];
    this.#card.style.translate = `${to[0]}px ${to[1]}px`;
  }
}
