// This module shows the bar that counts closed tabs.

import { Announcer } from "./announcer.js";
import { button } from "./elements.js";
import { CLOSING, SHARE } from "./strings.js";

/** The bar disappears after this time, unless it is hovered or focused, or a dialog is open. */
const STAY_MS = 10_000;

/** The bar at the bottom of the window. */
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
  #showVisit;
  #count = 0;

  constructor(page, { undo, closeSite, showVisit }) {
    this.#page = page;
    this.#closeSite = closeSite;
    this.#showVisit = showVisit;
    this.#element.className = "closing-bar";
    this.#element.ariaLabel = CLOSING.label;
    this.#element.hidden = true;
    this.#status.className = "unseen";
    this.#status.setAttribute("role", "status");
    this.#undo = button(CLOSING.undo, undo);
    this.#undo.title = CLOSING.undoKeys;
    const shareVisit = button(SHARE.share, showVisit);
    shareVisit.title = SHARE.visit;
    shareVisit.ariaHasPopup = "dialog";
    const closeAll = button(CLOSING.closeAll, () => void this.#ask());
    this.#element.append(this.#words, this.#undo, shareVisit, closeAll);
    page.wall.container.closest("main").append(this.#element, this.#status);
  }

  update(closed) {
    const { count, ofWall } = closed;
    this.#count = count;
    const { hosts } = this.#page.manifest;
    this.#words.textContent = CLOSING.closed(count, hosts - count);
    this.#undo.disabled = ofWall.length === 0;
    this.#element.hidden = false;
    this.#leaveLater();
    this.#announcer.say(this.#words.textContent);
  }

  #leaveLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const isUsed = this.#element.matches(":hover, :focus-within") ||
        document.querySelector("dialog[open]") !== null;
      if (isUsed) this.#leaveLater();
      else this.#element.hidden = true;
    }, STAY_MS);
  }

  async #ask() {
    try {
      const { CloseAll } = await import("./close-all.js");
      const { wall, manifest, stream } = this.#page;
      this.#closeAll ??= new CloseAll(wall, this.#closeSite, this.#showVisit);
      this.#closeAll.ask(Math.max(stream.total, manifest.hosts) - this.#count);
    } catch {
      this.#page.notify(CLOSING.allKept);
    }
  }
}
