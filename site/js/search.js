// Owns the search box: fetches static search files, shows the hostnames that begin with what was
// typed, and goes to the tab of the chosen one.
// Invariants: at most two files are fetched after a pause in typing, and each once; an older answer
// never replaces a newer one; hostnames enter by textContent only.
// Must not know: how the files are sorted, rows, bundles.

import { filesFor, linesFrom, rangeOf, shownName, typedKey } from "./search-keys.js";

/** A pause in typing this long starts a search. */
const PAUSE_MS = 150;
const MAX_SUGGESTIONS = 8;
const MAX_FILES_PER_PAUSE = 2;
/** The files kept in memory; the one fetched first is dropped first. */
const MAX_FILES_HELD = 60;

/** The input, its list of suggestions, and the search files behind them. */
export class SearchBox {
  /**
   * `input` and `list` are elements; `manifestOf()` returns the manifest or null; `iconOf(host)`
   * returns a site's icon as a data URL if its bundle is in memory, else "".
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
    /** The number of the newest query: answers to older ones are dropped. */
    this.query = 0;
    /** True while the answer is incomplete. */
    this.pending = false;
    /** True if the visitor pressed Enter meanwhile: then the first name is gone to. */
    this.goToFirst = false;
    input.addEventListener("input", () => this.#schedule(PAUSE_MS));
    input.addEventListener("keydown", (event) => this.#press(event));
    input.addEventListener("blur", () => this.#show(null));
    input.addEventListener("focus", () => this.#schedule(0));
    list.addEventListener("pointerdown", (event) => {
      // Keeps the focus in the box, so that the list is still there at the click.
      event.preventDefault();
    });
    list.addEventListener("click", (event) => {
      const at = [...list.children].indexOf(event.target.closest("[role=option]"));
      if (at >= 0) this.#go(this.entries[at]);
    });
    if (document.activeElement === input) this.#schedule(0);
  }

  #schedule(ms) {
    clearTimeout(this.timer);
    this.query += 1;
    this.pending = true;
    this.goToFirst = false;
    const query = this.query;
    this.timer = setTimeout(() => void this.#answer(query), ms);
  }

  async #answer(query) {
    const start = typedKey(this.input.value);
    const manifest = this.manifestOf();
    if (start === "" || !manifest) {
      this.#show(null);
      this.pending = false;
      return;
    }
    const folder = `${manifest.prefix}search/${rangeOf(start)}/`;
    let fetched = this.files.has(`${folder}index.tsv`) ? 0 : 1;
    const index = await this.#read(`${folder}index.tsv`);
    if (query !== this.query) return;
    const { first, end } = filesFor(index?.split("\n").filter((key) => key !== "") ?? [], start);
    let entries = [];
    let trouble = index === null;
    for (let file = first; file < end && entries.length < MAX_SUGGESTIONS && !trouble; file += 1) {
      const path = `${folder}${file}.tsv`;
      if (!this.files.has(path)) fetched += 1;
      if (fetched > MAX_FILES_PER_PAUSE) {
        // Goes on after another pause, unless something else is typed meanwhile.
        this.#show(entries, trouble);
        this.timer = setTimeout(() => void this.#answer(query), PAUSE_MS);
        return;
      }
      const text = await this.#read(path);
      if (query !== this.query) return;
      trouble = text === null;
      entries = entries.concat(linesFrom(text ?? "", start, MAX_SUGGESTIONS - entries.length));
    }
    if (query !== this.query) return;
    this.#show(entries, trouble);
    this.pending = false;
    if (this.goToFirst && entries.length > 0) this.#go(entries[0]);
  }

  /** Resolves to the text of a search file, or to null if it cannot be fetched. */
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
      const message = trouble ? "The names did not come." : "No website begins with that.";
      list.append(option(message, -1));
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
      // The list may still answer what was typed before.
      if (this.pending) this.goToFirst = true;
      else if (entry) this.#go(entry);
    } else if (/^Arrow(?:Up|Down)$/.test(event.key) && length > 0) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      const from = this.chosen < 0 && step < 0 ? 0 : this.chosen;
      this.#choose((from + step + length) % length);
    }
  }

  /** The hash leads to the tab: so it can be shared, and the back button works. */
  #go({ host, bundle }) {
    this.#show(null);
    this.input.blur();
    location.hash = `#seed=${Date.now()}&bundle=${bundle}&site=${host}`;
  }
}

/** A list item; `number` -1 makes it a message that cannot be chosen. */
function option(text, number, icon = "") {
  const item = document.createElement("li");
  item.textContent = text;
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
