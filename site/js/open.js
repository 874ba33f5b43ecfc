// Owns what opens: the viewer of a framed site between the rows, and the card that shows a tab's
// whole title and hostname. Loaded once the first tabs are on screen.
// Invariants: one site at a time, each in a new frame that is gone once closed; the frame is
// sandboxed without our origin, popups or top navigation, and is told no referrer.
// Must not know: rows, bundles.

import { cardPlace } from "./reach.js";

/** A page that has not come by then may never: the way out is pointed at. */
const PATIENCE_MS = 8_000;
const CARD_DELAY_MS = 350;
/** As wide as .card in css/everytab.css. */
const CARD_WIDTH_PX = 288;

export class SiteViewer {
  /**
   * `element` is the page's #site; `contact` an address for reports, or ""; `onClosed` is called
   * after each closing.
   */
  constructor(element, contact, onClosed) {
    this.element = element;
    this.part = partsOf(element);
    this.contact = contact;
    this.onClosed = onClosed;
    this.timer = 0;
    this.part("close").addEventListener("click", () => this.close());
    this.part("copy").addEventListener("click", () => void this.#copy());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.isOpen) this.close();
    });
    document.addEventListener("click", (event) => {
      const { target } = event;
      if (this.isOpen && !element.contains(target) && !target.closest("a, button, select, input"))
        this.close();
    });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  open(tab) {
    const icon = this.part("icon");
    icon.hidden = tab.icon === "";
    if (tab.icon) icon.src = tab.icon;
    this.tab = tab;
    this.part("title").textContent = tab.title;
    this.part("host").textContent = tab.host;
    this.part("out").href = tab.url;
    this.part("report").hidden = this.contact === "";
    this.part("report").href = reportAddress(this.contact, tab);
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
    this.element.hidden = false;
    this.part("page").replaceChildren(frame);
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => this.#say("late", "Nothing has come yet. The site may open in a new tab."),
      PATIENCE_MS,
    );
    this.part("close").focus({ preventScroll: true });
  }

  /** Where the viewer stands in the wall. */
  place(topPx, heightPx) {
    this.element.style.top = `${topPx}px`;
    this.element.style.height = `${heightPx}px`;
  }

  close() {
    clearTimeout(this.timer);
    this.element.hidden = true;
    this.part("page").replaceChildren();
    this.onClosed();
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.tab.url);
      this.part("copied").textContent = "Copied";
    } catch {
      this.part("copied").textContent = "Not copied";
    }
    setTimeout(() => {
      this.part("copied").textContent = "";
    }, 2_000);
  }

  #say(state, words) {
    this.element.dataset.state = state;
    this.part("note").textContent = words;
  }
}

/** The link by which a tab is reported: a letter that names it, or the page that takes reports. */
function reportAddress(contact, tab) {
  if (!contact.startsWith("mailto:")) return contact;
  return `${contact}?subject=${encodeURIComponent(`EveryTab: ${tab.host}`)}`;
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
