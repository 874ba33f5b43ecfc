// This module shows the card for one tab on the map.

import { shownHost } from "./host-name.js";

const TIMES = 4;
const GAP_PX = 14;

/** The card in the element `card`. */
export class TabCard {
  #card;
  #part;
  #returnTo = null;

  constructor(card, onClose) {
    this.#card = card;
    this.#part = (name) => card.querySelector(`[data-part="${name}"]`);
    this.#part("icon").addEventListener("load", ({ target }) => {
      target.width = target.naturalWidth * TIMES;
      target.height = target.naturalHeight * TIMES;
    });
    this.#part("close").addEventListener("click", () => onClose());
  }

  get isOpen() {
    return !this.#card.hidden;
  }

  /**
   * With `returnTo`, the card takes the focus, and `hide` moves the focus from the card to
   * `returnTo`.
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

  hide() {
    if (this.#card.hidden) return;
    const hadFocus = this.#card.contains(document.activeElement);
    this.#card.hidden = true;
    if (hadFocus) this.#returnTo?.focus();
  }

  /**
   * The height that the card covers at the bottom of the map, in CSS pixels. 0 if the card is next
   * to a cell.
   */
  get coveredPx() {
    const isBelow = this.#card.offsetWidth > 0.8 * this.#card.parentElement.clientWidth;
    return isBelow ? this.#card.offsetHeight + GAP_PX : 0;
  }

  moveBeside({ x, y, side }, size) {
    const { offsetWidth: width, offsetHeight: height } = this.#card;
    const right = x + side + GAP_PX;
    const left = right + width <= size.width ? right : x - GAP_PX - width;
    const within = (value, most) => Math.round(Math.max(GAP_PX, Math.min(value, most - GAP_PX)));
    const to = [within(left, size.width - width), within(y - height / 3, size.height - height)];
    this.#card.style.translate = `${to[0]}px ${to[1]}px`;
  }
}
