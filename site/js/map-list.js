// Owns the list beside the map, which says in words what is in view: the tabs of the bundle in its
// middle, as buttons, or how many tabs. Invariants: texts enter by textContent; the list is not
// replaced while the focus is in it and its bundle is the same.
// Must not know: where tabs come from, the geometry.

import { shownHost } from "./host-name.js";

/** The list, the words and the hint above it, and the buttons to the bundles around. */
export class MapList {
  #list;
  #words;
  #steps;
  #hint;
  #onChoose;
  #bundle = -1;
  #shown = null;

  /**
   * `onChoose(slot, button)` is called for a tab, `onStep(columns, rows)` for a way to another
   * bundle.
   */
  constructor({ list, words, steps, hint }, { onChoose, onStep }) {
    this.#list = list;
    this.#words = words;
    this.#steps = steps;
    this.#hint = hint;
    this.#onChoose = onChoose;
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.#onChoose(Number(button.value), button);
    });
    steps.addEventListener("click", (event) => {
      const [columns, rows] = event.target.closest("button")?.value.split(" ").map(Number) ?? [];
      if (rows !== undefined) onStep(columns, rows);
    });
  }

  /**
   * Shows what is in view: `words`, and the `tabs` by slot of a bundle, or null while they are not
   * in memory; -1 is no bundle.
   */
  show(words, { bundle, tabs }) {
    const isNear = bundle >= 0;
    const isKept = bundle === this.#bundle && this.#list.contains(document.activeElement);
    this.#bundle = bundle;
    if (this.#words.textContent !== words) this.#words.textContent = words;
    this.#steps.hidden = !isNear;
    this.#hint.hidden = isNear;
    if (tabs === this.#shown || isKept) return;
    this.#shown = tabs;
    this.#list.scrollTop = 0;
    this.#list.replaceChildren(...[...tabs ?? []].map(([slot, tab]) => item(slot, tab)));
    this.#list.hidden = !tabs;
  }

  /** Marks the tab of a slot as the chosen one; -1 for none. */
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
  button.append(image, name, site);
  entry.append(button);
  return entry;
}
