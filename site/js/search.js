// This module shows the hostnames that match the typed text, and goes to the tab of the chosen one.
// After each pause in typing, it fetches at most two files. An older result never replaces a newer
// one.

import { Announcer } from "./announcer.js";
import { shownHost } from "./host-name.js";
import { SearchFiles } from "./search-files.js";
import { typedKey, withoutWww } from "./search-keys.js";
import { SEARCH } from "./strings.js";

const PAUSE_MS = 150;
const MAX_FILES_PER_PAUSE = 2;
/** The `keyCode` of keys that an input method handles. */
const INPUT_METHOD = 229;

/** The input, its suggestion list, and the search files. */
export class SearchBox {
  /**
   * `manifestOf()` returns the manifest or null; `iconOf(host)` returns a site's icon as a data URL
   * if its bundle is in memory, else ""; `wasEntered` is true if Enter was pressed in the input
   * before.
   */
  constructor({ input, list, status, manifestOf, iconOf, goTo, wasEntered }) {
    this.input = input;
    this.list = list;
    this.status = status;
    this.manifestOf = manifestOf;
    this.iconOf = iconOf;
    this.goTo = goTo;
    this.files = new SearchFiles();
    this.entries = [];
    this.chosen = -1;
    this.timer = 0;
    this.query = 0;
    /** True until the result for the typed text is complete. */
    this.pending = false;
    this.goToFirst = false;
    this.announcer = new Announcer(this.status);
    input.addEventListener("input", () => this.#schedule(PAUSE_MS));
    input.addEventListener("keydown", (event) => this.#press(event));
    input.addEventListener("blur", () => this.hide());
    input.addEventListener("focus", () => {
      input.select();
      this.#schedule(0);
    });
    list.addEventListener("pointerdown", (event) => {
      // Otherwise the list would be hidden before the click.
      event.preventDefault();
    });
    list.addEventListener("click", (event) => {
      const at = [...list.children].indexOf(event.target.closest("[role=option]"));
      if (at >= 0) this.#go(this.entries[at]);
    });
    if (document.activeElement !== input) return;
    this.#schedule(0);
    this.goToFirst = wasEntered;
  }

  /** Goes to the marked result, or to the first one once it is known. */
  enter() {
    const entry = this.entries[this.chosen];
    // The list may still belong to the previous text.
    if (this.pending) this.goToFirst = true;
    else if (entry) this.#go(entry);
    else if (this.entries.length === 0) {
      this.#schedule(0);
      this.goToFirst = true;
    }
  }

  #schedule(ms) {
    clearTimeout(this.timer);
    this.announcer.cancel();
    this.query += 1;
    this.pending = true;
    this.goToFirst = false;
    const query = this.query;
    this.timer = setTimeout(() => void this.#answer(query), ms);
  }

  async #answer(query) {
    const typed = this.input.value;
    const manifest = this.manifestOf();
    if (typedKey(typed) === "" || !manifest) {
      this.hide();
      return;
    }
    const { entries, isWhole, isNear, trouble } =
      await this.files.answer(typed, manifest, MAX_FILES_PER_PAUSE);
    if (query !== this.query) return;
    // Names that start with the typed text are found first, so a complete result has the same first
    // entry.
    if (this.goToFirst && entries.length > 0 && !isNear) {
      this.#go(entries[0]);
      return;
    }
    if (isWhole || entries.length > 0) this.#show(entries, isNear, trouble);
    this.pending = !isWhole;
    // Fetch further files after another pause, unless the visitor types something else.
    if (!isWhole) this.timer = setTimeout(() => void this.#answer(query), PAUSE_MS);
  }

  #show(entries, isNear, trouble) {
    const { input, list } = this;
    const start = typedKey(input.value);
    const before = this.chosen < (isNear ? 0 : 1) ? null : this.entries[this.chosen]?.host;
    this.entries = entries;
    list.replaceChildren(...entries.map((entry, i) =>
      option(entry, i, start, this.iconOf(entry.host))));
    list.hidden = entries.length === 0;
    input.setAttribute("aria-expanded", String(entries.length > 0));
    const kept = entries.findIndex(({ host }) => host === before);
    // A guess must be chosen by the visitor.
    this.#choose(entries.length === 0 || isNear ? kept : Math.max(0, kept));
    this.#say(entries, isNear, trouble);
  }

  hide() {
    clearTimeout(this.timer);
    this.query += 1;
    this.pending = false;
    this.goToFirst = false;
    this.entries = [];
    this.list.hidden = true;
    this.status.textContent = "";
    this.status.classList.remove("words");
    this.input.setAttribute("aria-expanded", "false");
    this.#choose(-1);
  }

  /** Shows messages immediately, and announces the number of names at most once in ten seconds. */
  #say({ length }, isNear, trouble) {
    const { status } = this;
    this.announcer.cancel();
    status.classList.toggle("words", length === 0);
    if (length === 0) {
      status.textContent = trouble ? SEARCH.unavailable : SEARCH.notFound;
    } else {
      status.textContent = isNear ? SEARCH.near : "";
      if (!isNear) this.announcer.say(SEARCH.websites(length));
    }
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
    // In Safari `isComposing` is already false, so we also check the `keyCode`.
    if (event.isComposing || event.keyCode === INPUT_METHOD) return;
    const { length } = this.entries;
    const isShown = length > 0 || this.status.textContent !== "";
    const isSearching = this.pending && typedKey(this.input.value) !== "";
    if (event.key === "Escape" && (isShown || isSearching)) {
      event.stopPropagation();
      this.hide();
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.enter();
    } else if (/^Arrow(?:Up|Down)$/.test(event.key) && length > 0) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.#choose((Math.max(this.chosen, step < 0 ? 0 : -1) + step + length) % length);
    }
  }

  #go({ host, bundle, slot }) {
    this.hide();
    this.input.value = shownHost(withoutWww(host));
    this.input.blur();
    this.goTo(host, bundle, slot);
  }
}

function option({ host, title }, number, start, icon) {
  const item = document.createElement("li");
  item.id = `choice-${number}`;
  item.setAttribute("role", "option");
  const name = document.createElement("span");
  name.dir = "auto";
  const text = shownHost(withoutWww(host));
  const at = text.indexOf(start);
  if (at < 0) {
    name.textContent = text;
  } else {
    const bold = document.createElement("b");
    bold.textContent = start;
    name.append(text.slice(0, at), bold, text.slice(at + start.length));
  }
  item.append(name);
  if (icon) {
    const image = document.createElement("img");
    image.className = "icon";
    image.alt = "";
    image.src = icon;
    item.prepend(image);
  }
  if (title) {
    const words = document.createElement("span");
    words.className = "choice-title";
    words.dir = "auto";
    words.textContent = title;
    item.append(" ", words);
  }
  return item;
}
