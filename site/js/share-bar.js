// Owns the bar that offers to share the site that the visitor found last, or the group of tabs that
// was used last. Invariants: it covers no dialog and takes no focus; it disappears when the visitor
// closes it, or when its owner hides it. Does not depend on what is shared.

import { button } from "./elements.js";
import { SHARE } from "./strings.js";

/** A bar at the bottom of the window. */
export class ShareBar {
  #element = document.createElement("section");
  #words = document.createElement("p");
  #action;
  #onHidden;
  #onPress = () => {};

  /** `onHidden` is called when the bar had the focus and is hidden. */
  constructor(parent, onHidden) {
    this.#onHidden = onHidden;
    this.#element.className = "share-bar";
    this.#element.ariaLabel = SHARE.bar;
    this.#element.hidden = true;
    this.#words.setAttribute("role", "status");
    this.#action = button("", () => this.#onPress());
    const close = button("×", () => this.hide());
    close.ariaLabel = SHARE.close;
    close.className = "card-close";
    this.#element.append(this.#words, this.#action, close);
    parent.append(this.#element);
  }

  /** True while the bar is shown. */
  get isShown() {
    return !this.#element.hidden;
  }

  /** Shows `words` and a button with the text `label`, which calls `onPress`. */
  show(words, label, onPress) {
    this.#element.hidden = false;
    this.#words.textContent = words;
    this.#action.textContent = label;
    this.#onPress = onPress;
  }

  /** Replaces the text by a message about the last action. */
  say(words) {
    this.#words.textContent = words;
  }

  /** Hides the bar. */
  hide() {
    if (!this.isShown) return;
    const hadFocus = this.#element.contains(document.activeElement);
    this.#element.hidden = true;
    if (hadFocus) this.#onHidden();
  }
}
