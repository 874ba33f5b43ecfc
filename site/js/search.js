// Owns the search box: asks the static search files for names that begin with what was typed,
// shows them, and leads to the tab of the one chosen.
// Invariants: at most two files are asked for after a pause, and each once; an older answer
// never replaces a newer; strangers' names enter by textContent alone.
// Must not know: how the files are sorted, rows, bundles.

import { filesFor, linesFrom, rangeOf, shownName, typedKey } from "./names.js";

const PAUSE_MS = 150;
const SHOWN = 8;
const MAX_FILES_HELD = 60;

export class SearchBox {
  /**
   * `manifestOf` gives the manifest of the scan on show, or null; `iconOf(host)` a site's icon
   * where its bundle is at hand, else "".
   */
  constructor(input, list, manifestOf, iconOf) {
    this.input = input;
    this.list = list;
    this.manifestOf = manifestOf;
    this.iconOf = iconOf;
    this.files = new Map();
    this.entries = [];
    this.chosen = -1;
    this.timer = 0;
    this.question = 0;
    /** Whether an answer is still to come, and whether its first name is to be gone to. */
    this.pending = false;
    this.impatient = false;
    input.addEventListener("input", () => this.#ask(PAUSE_MS));
    input.addEventListener("keydown", (event) => this.#press(event));
    input.addEventListener("blur", () => this.#show(null));
    input.addEventListener("focus", () => this.#ask(0));
    list.addEventListener("pointerdown", (event) => {
      // The box keeps the focus, so that the list is still there when the finger leaves it.
      event.preventDefault();
    });
    list.addEventListener("click", (event) => {
      const at = [...list.children].indexOf(event.target.closest("[role=option]"));
      if (at >= 0) this.#go(this.entries[at]);
    });
    if (document.activeElement === input) this.#ask(0);
  }

  #ask(ms) {
    clearTimeout(this.timer);
    this.question += 1;
    this.pending = true;
    this.impatient = false;
    const question = this.question;
    this.timer = setTimeout(() => void this.#answer(question), ms);
  }

  async #answer(question) {
    const start = typedKey(this.input.value);
    const manifest = this.manifestOf();
    if (start === "" || !manifest) {
      this.#show(null);
      this.pending = false;
      return;
    }
    const folder = `${manifest.prefix}search/${rangeOf(start)}/`;
    let asked = this.files.has(`${folder}index.tsv`) ? 0 : 1;
    const index = await this.#read(`${folder}index.tsv`);
    if (question !== this.question) return;
    const { first, end } = filesFor(index?.split("\n").filter((key) => key !== "") ?? [], start);
    let entries = [];
    let trouble = index === null;
    for (let file = first; file < end && entries.length < SHOWN && !trouble; file += 1) {
      const path = `${folder}${file}.tsv`;
      if (!this.files.has(path)) asked += 1;
      if (asked > 2) {
        // More only after another pause, if nothing else is typed meanwhile.
        this.#show(entries, trouble);
        this.timer = setTimeout(() => void this.#answer(question), PAUSE_MS);
        return;
      }
      const text = await this.#read(path);
      if (question !== this.question) return;
      trouble = text === null;
      entries = entries.concat(linesFrom(text ?? "", start, SHOWN - entries.length));
    }
    if (question !== this.question) return;
    this.#show(entries, trouble);
    this.pending = false;
    if (this.impatient && entries.length > 0) this.#go(entries[0]);
  }

  /** The text of a search file, or null: no answer. */
  async #read(path) {
    const held = this.files.get(path);
    if (held !== undefined) return held;
    try {
      const response = await fetch(path);
      if (!response.ok) return null;
      const text = await response.text();
      this.files.set(path, text);
      if (this.files.size > MAX_FILES_HELD) this.files.delete(this.files.keys().next().value);
      return text;
    } catch {
      return null;
    }
  }

  #show(entries, trouble = false) {
    const { input, list } = this;
    this.entries = entries ?? [];
    this.#choose(-1);
    list.replaceChildren(...this.entries.map(({ host }, i) =>
      option(shownName(host), i, this.iconOf(host))));
    if (entries?.length === 0) {
      const words = trouble ? "The names did not come." : "No website begins with that.";
      list.append(option(words, -1));
    }
    list.hidden = entries === null;
    input.setAttribute("aria-expanded", String(entries !== null));
  }

  #choose(at) {
    this.chosen = at;
    [...this.list.children].forEach((item, i) => {
      item.setAttribute("aria-selected", String(i === at));
    });
    if (at < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `choice-${at}`);
  }

  #press(event) {
    const { length } = this.entries;
    if (event.key === "Escape" && !this.list.hidden) {
      event.stopPropagation();
      this.#show(null);
    } else if (event.key === "Enter") {
      const entry = this.entries[Math.max(0, this.chosen)];
      // What is on show may answer what was typed before.
      if (this.pending) this.impatient = true;
      else if (entry) this.#go(entry);
    } else if (/^Arrow(?:Up|Down)$/.test(event.key) && length > 0) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      const from = this.chosen < 0 && step < 0 ? 0 : this.chosen;
      this.#choose((from + step + length) % length);
    }
  }

  /** The address leads to the tab: it can be shared, and the way back leads back. */
  #go({ host, bundle }) {
    this.#show(null);
    this.input.blur();
    location.hash = `#seed=${Date.now()}&bundle=${bundle}&site=${host}`;
  }
}

function option(words, number, icon = "") {
  const item = document.createElement("li");
  item.textContent = words;
  if (icon) {
    const image = document.createElement("img");
    image.className = "icon";
    image.alt = "";
    image.src = icon;
    item.prepend(image);
  }
  item.dir = "auto";
  if (number < 0) {
    item.setAttribute("role", "none");
    return item;
  }
  item.id = `choice-${number}`;
  item.setAttribute("role", "option");
  return item;
}
