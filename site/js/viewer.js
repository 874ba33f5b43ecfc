// Owns the viewer, which shows one site in a frame, with its title, hostname and buttons.
// Invariants: one site at a time, each in a new frame that is removed when it is closed; the frame
// is sandboxed without our origin, popups or top navigation, and gets no referrer.
// Must not know: rows, bundles.

/** A page that has not loaded by then may never load: the viewer suggests a new tab instead. */
const LATE_MS = 8_000;
const COPIED_MS = 2_000;

/** Shows the site of one tab. */
export class SiteViewer {
  #element;
  #contact;
  #onClosed;
  #tab = null;
  #timer = 0;

  /**
   * `element` is the page's #site; `contact` is the manifest's address for reports, or "";
   * `onClosed` is called after each closing.
   */
  constructor(element, contact, onClosed) {
    this.#element = element;
    this.#contact = contact;
    this.#onClosed = onClosed;
    this.#part("close").addEventListener("click", () => this.close());
    this.#part("copy").addEventListener("click", () => void this.#copy());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.isOpen) this.close();
    });
    document.addEventListener("click", (event) => {
      const { target } = event;
      if (this.isOpen && !element.contains(target) && !target.closest("a, button, select, input"))
        this.close();
    });
  }

  /** True while a site is shown. */
  get isOpen() {
    return !this.#element.hidden;
  }

  /** Shows the site of `tab`, as `readEntry` in bundles.js returns it, and moves the focus. */
  open(tab) {
    const icon = this.#part("icon");
    icon.hidden = tab.icon === "";
    if (tab.icon) icon.src = tab.icon;
    this.#tab = tab;
    this.#part("title").textContent = tab.title;
    this.#part("host").textContent = tab.host;
    this.#part("out").href = tab.url;
    this.#part("report").hidden = this.#contact === "";
    this.#part("report").href = reportAddress(this.#contact, tab);
    this.#setState("loading", "Opening…");
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-forms");
    frame.referrerPolicy = "no-referrer";
    frame.title = tab.title;
    frame.addEventListener("load", () => {
      clearTimeout(this.#timer);
      this.#setState("shown", "");
    });
    frame.src = tab.url;
    this.#element.hidden = false;
    this.#part("page").replaceChildren(frame);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#setState("late", "Nothing has come yet. The site may open in a new tab."),
      LATE_MS,
    );
    this.#part("close").focus({ preventScroll: true });
  }

  /** Puts the viewer `topPx` pixels below the top of the wall, `heightPx` pixels high. */
  place(topPx, heightPx) {
    this.#element.style.top = `${topPx}px`;
    this.#element.style.height = `${heightPx}px`;
  }

  /** Hides the viewer and removes its frame. */
  close() {
    clearTimeout(this.#timer);
    this.#element.hidden = true;
    this.#part("page").replaceChildren();
    this.#onClosed();
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.#tab.url);
      this.#part("copied").textContent = "Copied";
    } catch {
      this.#part("copied").textContent = "Not copied";
    }
    setTimeout(() => {
      this.#part("copied").textContent = "";
    }, COPIED_MS);
  }

  #setState(state, text) {
    this.#element.dataset.state = state;
    this.#part("note").textContent = text;
  }

  #part(name) {
    return this.#element.querySelector(`[data-part="${name}"]`);
  }
}

/** The link that reports a tab: a mail whose subject names the host, or the page for reports. */
function reportAddress(contact, tab) {
  if (!contact.startsWith("mailto:")) return contact;
  return `${contact}?subject=${encodeURIComponent(`EveryTab: ${tab.host}`)}`;
}
