// This module shows the hover card for the hovered or focused tab.

import { shownHost } from "./host-name.js";
import { cardPosition } from "./navigation.js";

/** The first card appears after this delay. */
const DELAY_MS = 350;
/** The width of .card in css/interaction.css. */
const WIDTH_PX = 288;
const MAGNIFICATION = 4;
const MAX_ICON_PX = 128;

/** The card that describes a tab. */
export class HoverCard {
  #element;
  #picture = document.createElement("div");
  #icon = new Image();
  #timer = 0;

  constructor(element) {
    this.#element = element;
    this.#picture.className = "card-picture";
    this.#picture.append(this.#icon);
    element.append(this.#picture);
    this.#icon.addEventListener("load", () => this.#magnify());
  }

  /**
   * Shows the card next to `link`, without delay if a card is already visible. With `isFocused` it
   * also names the keys that act on the tab.
   */
  show(link, tab, isFocused) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#place(link, tab, isFocused),
      this.#element.hidden ? DELAY_MS : 0);
  }

  hide() {
    clearTimeout(this.#timer);
    this.#element.hidden = true;
  }

  #place(link, tab, isFocused) {
    const box = link.getBoundingClientRect();
    const { left, top, bottom } =
      cardPosition(box, WIDTH_PX, document.documentElement.clientWidth, innerHeight);
    this.#part("title").textContent = tab.title;
    this.#part("host").textContent = shownHost(tab.host);
    this.#part("outside").hidden = tab.frameable;
    this.#part("keys").hidden = !isFocused;
    this.#picture.hidden = tab.icon === "";
    if (tab.icon) this.#icon.src = tab.icon;
    const { style } = this.#element;
    style.left = `${left}px`;
    style.top = top === undefined ? "auto" : `${top}px`;
    style.bottom = bottom === undefined ? "auto" : `${bottom}px`;
    this.#element.hidden = false;
  }

  /** Enlarges the icon by an integer factor, so that its pixels remain square. */
  #magnify() {
    const { naturalWidth, naturalHeight } = this.#icon;
    const most = Math.floor(MAX_ICON_PX / Math.max(naturalWidth, naturalHeight));
    const times = Math.max(1, Math.min(MAGNIFICATION, most));
    this.#icon.width = naturalWidth * times;
    this.#icon.height = naturalHeight * times;
  }

  #part(name) {
    return this.#element.querySelector(`[data-part="${name}"]`);
  }
}
