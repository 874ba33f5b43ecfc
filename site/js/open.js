// Owns the window in which a framed site opens.
// Invariants: one site at a time, each in a new frame that is gone once closed; the frame is
// sandboxed without our origin, popups or top navigation, and is told no referrer.
// Must not know: rows, bundles.

import { paintIcon } from "./tabs.js";

/** A page that has not come by then may never: the way out is pointed at. */
const PATIENCE_MS = 8_000;

export class SiteWindow {
  /** `dialog` is the page's <dialog>; `onClosed` is called after each closing. */
  constructor(dialog, onClosed) {
    this.dialog = dialog;
    this.part = (name) => dialog.querySelector(`[data-part="${name}"]`);
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
