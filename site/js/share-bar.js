// This module shows the bar that offers to share a site or a group of tabs. The bar does not take
// the focus.

import { button, closeButton } from "./elements.js";
import { SHARE } from "./strings.js";

/** A bar at the bottom of the window. */
export class ShareBar {
  #element = document.createElement("section");
  #words = document.createElement("p");
  #status = document.createElement("p");
  #action;
  #onHidden;
  #onPress = () => {};

  /** `onHidden` is called if the bar had the focus when it was hidden. */
  constructor(parent, onHidden) {
    this.#onHidden = onHidden;
    this.#element.className = "share-bar";
    this.#element.ariaLabel = SHARE.bar;
    this.#element.hidden = true;
    this.#status.className = "unseen";
    this.#status.setAttribute("role", "status");
    this.#action = button("", () => this.#onPress());
    const close = closeButton(SHARE.close, () => this.hide());
    this.#element.append(this.#words, this.#status, this.#action, close);
    parent.append(this.#element);
  }

  get isShown() {
    return !this.#element.hidden;
  }

  /** Does not announce the words, because they may be provisional. `say` announces its words. */
  show(words, label, onPress) {
    this.#element.hidden = false;
    this.#words.textContent = words;
    this.#status.textContent = "";
    this.#action.textContent = label;
    this.#onPress = onPress;
  }

  say(words) {
    this.#words.textContent = words;
    this.#status.textContent = words;
  }

  hide() {
    if (!this.isShown) return;
    const hadFocus = this.#element.contains(document.activeElement);
    this.#element.hidden = true;
    if (hadFocus) this.#onHidden();
  }
}
