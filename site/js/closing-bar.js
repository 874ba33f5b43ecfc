// Owns the bar that counts closed tabs, with its buttons: it appears when a tab is closed, and goes
// some seconds later. Loaded at the first closing. A screen reader is told the count at most once
// in ten seconds.
// Must not know: how a tab is closed.

import { Announcer } from "./announcer.js";
import { button } from "./elements.js";

/** The bar stays this long after the last change, or while it is hovered or focused. */
const STAY_MS = 10_000;

/** The bar at the window's bottom. */
export class ClosingBar {
  #page;
  #element = document.createElement("section");
  #words = document.createElement("p");
  #status = document.createElement("p");
  #undo;
  #timer = 0;
  #announcer = new Announcer(this.#status);
  #closeAll = null;
  #closeSite;
  #count = 0;

  /**
   * `page` is main.js's object; `undo` reopens the most recently closed tab; `closeSite` closes the
   * open site.
   */
  constructor(page, undo, closeSite) {
    this.#page = page;
    this.#closeSite = closeSite;
    this.#element.className = "closing-bar";
    this.#element.ariaLabel = "Closed tabs";
    this.#element.hidden = true;
    this.#status.className = "unseen";
    this.#status.setAttribute("role", "status");
    this.#undo = button("Undo", undo);
    this.#undo.title = "Bring back the last tab (Ctrl+Z, or Shift+T)";
    this.#element.append(this.#words, this.#undo, button("Close all…", () => void this.#ask()));
    page.wall.container.closest("main").append(this.#element, this.#status);
  }

  /** Says how many tabs are closed; `closed` are the ClosedTabs. */
  update(closed) {
    const { count, ofWall } = closed;
    this.#count = count;
    const { hosts } = this.#page.manifest;
    const toGo = hosts > count ? ` ${(hosts - count).toLocaleString("en")} to go.` : "";
    this.#words.textContent = `You have closed ${count.toLocaleString("en")}.${toGo}`;
    this.#undo.disabled = ofWall.length === 0;
    this.#element.hidden = false;
    this.#leaveLater();
    this.#announcer.say(this.#words.textContent);
  }

  #leaveLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#element.matches(":hover, :focus-within")) this.#leaveLater();
      else this.#element.hidden = true;
    }, STAY_MS);
  }

  async #ask() {
    try {
      const { CloseAll } = await import("./close-all.js");
      const { wall, manifest, stream } = this.#page;
      this.#closeAll ??= new CloseAll(wall, this.#closeSite);
      this.#closeAll.ask(Math.max(stream.total, manifest.hosts) - this.#count);
    } catch {
      this.#page.notify("The network did not answer, so all tabs stay open.");
    }
  }
}
