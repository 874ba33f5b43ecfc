// This module closes all tabs if the visitor agrees. It only hides the wall, and a reload shows it
// again.

import { button, textElement } from "./elements.js";
import { CLOSING, SHARE } from "./strings.js";

const LEAVE_MS = 700;

/** Asks the visitor, hides the wall, and shows it again on request. */
export class CloseAll {
  #wall;
  #closeSite;
  #showVisit;
  #question = textElement("h2", "");
  #count = 0;
  #dialog = document.createElement("dialog");
  #empty = document.createElement("section");

  constructor(wall, closeSite, showVisit) {
    this.#wall = wall;
    this.#closeSite = closeSite;
    this.#showVisit = showVisit;
    this.#question.id = "close-all";
    const cancel = button(CLOSING.cancel, () => this.#dialog.close());
    cancel.autofocus = true;
    this.#dialog.className = "question";
    this.#dialog.setAttribute("aria-labelledby", this.#question.id);
    const buttons = textElement("div", "");
    buttons.append(cancel, button(CLOSING.closeAllTabs, () => void this.#close()));
    const note = textElement("p", CLOSING.canReopen);
    this.#dialog.append(this.#question, note, buttons);
    this.#empty.className = "no-tabs";
    this.#empty.hidden = true;
    this.#empty.ariaLabel = CLOSING.noTabsLabel;
    document.body.append(this.#dialog);
    wall.container.parentElement.append(this.#empty);
    for (const type of ["click", "focusin"]) {
      document.getElementById("header").addEventListener(type, () => this.#reopen());
    }
    window.addEventListener("popstate", () => this.#reopen());
    document.addEventListener("keydown", ({ key }) => {
      const isBehind = document.querySelector("dialog[open]") !== null;
      if (key === "Escape" && !isBehind) this.#reopen();
    }, true);
  }

  ask(tabs) {
    this.#count = tabs;
    this.#question.textContent = CLOSING.question(this.#count);
    this.#dialog.showModal();
  }

  async #close() {
    this.#dialog.close();
    const { container } = this.#wall;
    // Wait until the site is closed, because closing it goes back in the history, and "popstate"
    // reopens all tabs.
    await Promise.all([this.#closeSite(), this.#leave()]);
    container.inert = true;
    container.classList.add("all-closed");
    const words = textElement("p", CLOSING.allClosed(this.#count));
    words.setAttribute("role", "status");
    const reopen = button(CLOSING.reopen, () => this.#reopen());
    const shareVisit = button(SHARE.share, this.#showVisit);
    shareVisit.title = SHARE.visit;
    shareVisit.ariaHasPopup = "dialog";
    this.#empty.replaceChildren(words, textElement("p", CLOSING.quiet), reopen, shareVisit);
    this.#empty.hidden = false;
    reopen.focus();
  }

  #reopen() {
    const { container } = this.#wall;
    if (this.#empty.hidden) return;
    const hadFocus = this.#empty.contains(document.activeElement);
    this.#empty.hidden = true;
    container.inert = false;
    container.classList.remove("all-closed");
    if (hadFocus) container.focus({ preventScroll: true });
  }

  async #leave() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const { rows, container } = this.#wall;
    const motions = rows.map(({ node }, i) => {
      const side = i % 2 === 0 ? -1 : 1;
      const translate = ["0 0", `${side * container.clientWidth}px 0`];
      const delay = LEAVE_MS / 2 * i / rows.length;
      return node.animate({ translate },
        { duration: LEAVE_MS / 2, delay, easing: "ease-in", fill: "forwards" });
    });
    await Promise.allSettled(motions.map(({ finished }) => finished));
    // If the animations were cancelled now, the rows would appear briefly before the wall is
    // hidden.
    requestAnimationFrame(() => motions.forEach((motion) => motion.cancel()));
  }
}
