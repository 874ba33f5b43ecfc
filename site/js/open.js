// Owns what opens above the wall: the window of a framed site, and the card that shows a tab's
// whole title and hostname.
// Invariants: one site at a time, each in a new frame that is gone once closed; the frame is
// sandboxed without our origin, popups or top navigation, and is told no referrer.
// Must not know: rows, bundles.

import { paintIcon } from "./tabs.js";
import { cardPlace } from "./viewport.js";

/** A page that has not come by then may never: the way out is pointed at. */
const PATIENCE_MS = 8_000;
const CARD_DELAY_MS = 350;
/** As wide as .card in css/everytab.css. */
const CARD_WIDTH_PX = 288;

export class SiteWindow {
  /** `dialog` is the page's <dialog>; `onClosed` is called after each closing. */
  constructor(dialog, onClosed) {
    this.dialog = dialog;
    this.part = partsOf(dialog);
    this.timer = 0;
    this.part("close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      // The dialog's own box is the ground behind the window.
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => {
      clearTimeout(this.timer);
      this.part("page").replaceChildren();
      onClosed();
    });
  }

  open(tab) {
    paintIcon(this.part("icon"), this.part("letter"), tab);
    this.part("title").textContent = tab.title;
    this.part("host").textContent = tab.host;
    this.part("out").href = tab.url;
    this.#say("loading", "Opening…");
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-forms");
    frame.referrerPolicy = "no-referrer";
    frame.title = tab.title;
    frame.addEventListener("load", () => {
      clearTimeout(this.timer);
      this.#say("shown", "");
    });
    frame.src = tab.url;
    this.part("page").replaceChildren(frame);
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => this.#say("late", "Nothing has come yet. The site may open in a new tab."),
      PATIENCE_MS,
    );
    this.dialog.showModal();
  }

  #say(state, words) {
    this.dialog.dataset.state = state;
    this.part("note").textContent = words;
  }
}

export class HoverCard {
  constructor(element) {
    this.element = element;
    this.part = partsOf(element);
    this.timer = 0;
  }

  /** Shows the card for the tab drawn by `link`: at once where one is already shown. */
  show(link, tab) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#place(link, tab), this.element.hidden ? CARD_DELAY_MS : 0);
  }

  hide() {
    clearTimeout(this.timer);
    this.element.hidden = true;
  }

  #place(link, tab) {
    const box = link.getBoundingClientRect();
    const place = cardPlace(box, CARD_WIDTH_PX, document.documentElement.clientWidth, innerHeight);
    this.part("title").textContent = tab.title;
    this.part("host").textContent = tab.host;
    this.part("outside").hidden = tab.frameable;
    const { style } = this.element;
    style.left = `${place.left}px`;
    style.top = place.top === undefined ? "auto" : `${place.top}px`;
    style.bottom = place.bottom === undefined ? "auto" : `${place.bottom}px`;
    this.element.hidden = false;
  }
}

function partsOf(element) {
  return (name) => element.querySelector(`[data-part="${name}"]`);
}
