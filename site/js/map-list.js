// This module describes the view in words next to the map, and lists tabs as buttons. The list is
// not replaced while it has the focus and its bundle is unchanged.

import { shownHost } from "./host-name.js";
import { withoutWww } from "./search-keys.js";

/**
 * The list, the text and the hint above it, and the buttons that lead to the neighbouring bundles.
 */
export class MapList {
  #list;
  #words;
  #steps;
  #hint;
  #onChoose;
  #bundle = -1;
  #shown = null;

  /**
   * `onChoose(slot, button, bundle)` is called when a tab's button is pressed; `onStep(columns,
   * rows)` when a button to another bundle is pressed.
   */
  constructor({ list, words, steps, hint }, { onChoose, onStep }) {
    this.#list = list;
    this.#words = words;
    this.#steps = steps;
    this.#hint = hint;
    this.#onChoose = onChoose;
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.#onChoose(Number(button.value), button, this.#bundle);
    });
    steps.addEventListener("click", (event) => {
      const [columns, rows] = event.target.closest("button")?.value.split(" ").map(Number) ?? [];
      if (rows !== undefined) onStep(columns, rows);
    });
  }

  /**
   * `tabs` is a Map by slot, or null if the tabs are not in memory. If `bundle` is -1, no bundle is
   * described, and `tabs` contains the landmarks by index, or is null.
   */
  show(words, { bundle, tabs, hint = this.#hint.textContent }) {
    const isNear = bundle >= 0;
    const isKept = bundle === this.#bundle && this.#list.contains(document.activeElement);
    this.#bundle = bundle;
    if (this.#words.textContent !== words) this.#words.textContent = words;
    this.#steps.hidden = !isNear;
    this.#hint.hidden = isNear;
    if (this.#hint.textContent !== hint) this.#hint.textContent = hint;
    if (tabs === this.#shown || isKept) return;
    this.#shown = tabs;
    this.#list.scrollTop = 0;
    this.#list.replaceChildren(...[...tabs ?? []].map(([slot, tab]) => item(slot, tab)));
    this.#list.hidden = !tabs;
  }

  /** Marks the tab in `slot` as current. -1 marks no tab. */
  choose(slot) {
    for (const button of this.#list.querySelectorAll("button")) {
      if (Number(button.value) === slot) {
        button.setAttribute("aria-current", "true");
        button.scrollIntoView({ block: "nearest" });
      } else {
        button.removeAttribute("aria-current");
      }
    }
  }
}

function item(slot, { host, title, icon }) {
  const [entry, button] = [document.createElement("li"), document.createElement("button")];
  const [name, site] = [document.createElement("span"), document.createElement("small")];
  button.type = "button";
  button.value = slot;
  const image = document.createElement("img");
  image.className = "icon";
  image.alt = "";
  image.width = 16;
  image.height = 16;
  if (icon) image.src = icon;
  name.textContent = title;
  name.dir = "auto";
  site.textContent = shownHost(host);
  button.append(image, name);
  if (shownHost(withoutWww(host)) !== title) button.append(site);
  entry.append(button);
  return entry;
}
