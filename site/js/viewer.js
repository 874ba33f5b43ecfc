// This module shows one site in a sandboxed frame. The frame keeps its own origin, and `readBundle`
// does not let our own host be framed. It cannot navigate this page, and it gets no referrer and,
// if the browser supports this, no cookies. The hostname is no longer shown as the site's once the
// frame has loaded a second page. If a site takes the focus by a script, the viewer takes it back,
// so that Escape closes the site.

import { shownHost } from "./host-name.js";
import { COMMON, VIEWER } from "./strings.js";

/**
 * Without allow-same-origin the site would have an opaque origin, and its own fonts, modules and
 * requests would be refused. A link that it opens in a new tab is an ordinary page, without a
 * sandbox.
 */
const SANDBOX = "allow-scripts allow-forms allow-same-origin allow-popups " +
  "allow-popups-to-escape-sandbox";

/** After this time the viewer suggests a new tab. */
const LATE_MS = 8_000;
const COPIED_MS = 2_000;
/** A site that takes the focus more often than this by a script becomes inert. */
const MAX_TAKEN = 2;
/** Slightly longer than the five seconds for which browsers report an input as recent. */
const ACTIVATION_MS = 5_100;
/** A click on one of these does not close the site; any other click outside it does. */
const NOT_BESIDE = "a, button, select, input, dialog, .closing-bar, .share-bar";

/** Shows one tab's site. */
export class SiteViewer {
  #element;
  #contact;
  #onClosed;
  #onLoading;
  #tab = null;
  #timer = 0;
  /** When the visitor last used this page, outside the frame. */
  #usedAt = 0;
  #recheck = 0;
  /** How often the site took the focus by a script. */
  #taken = 0;
  /**
   * True if the visitor's last input here was the Tab key, which can move the focus into the frame.
   */
  #isTabbing = false;

  /**
   * `contact` is the manifest's address for reports, or ""; `onLoading(isLoading)` is called when a
   * site begins to load, and when it has loaded or is closed.
   */
  constructor(element, contact, { onClosed, onLoading }) {
    this.#element = element;
    this.#contact = contact;
    this.#onClosed = onClosed;
    this.#onLoading = onLoading;
    this.#part("close").addEventListener("click", () => this.close());
    this.#part("copy").addEventListener("click", () => void this.#copy());
    document.addEventListener("keydown", ({ key }) => {
      // Escape first closes a dialog in front of the site.
      const isBehind = document.querySelector("dialog[open]") !== null;
      if (key === "Escape" && this.isOpen && !isBehind) this.close();
    });
    for (const type of ["keydown", "pointerdown", "pointerup"]) {
      document.addEventListener(type, ({ key, timeStamp }) => {
        this.#usedAt = timeStamp;
        this.#isTabbing = key === "Tab";
      }, true);
    }
    // Only after this event is it known whether the frame has the focus.
    window.addEventListener("blur", () => setTimeout(() => this.#keepFocus()));
    for (const type of ["pointerenter", "touchstart"]) {
      this.#part("page").addEventListener(type, () => this.#letIn(), { passive: true });
    }
    this.#part("out").addEventListener("keydown", ({ key }) => key === "Tab" && this.#letIn());
    document.addEventListener("click", ({ target }) => {
      if (this.isOpen && !element.contains(target) && !target.closest(NOT_BESIDE)) this.close();
    });
  }

  get isOpen() {
    return !this.#element.hidden;
  }

  /** `tab` is from `readEntry` in bundles.js. */
  open(tab) {
    const icon = this.#part("icon");
    icon.hidden = tab.icon === "";
    if (tab.icon) icon.src = tab.icon;
    this.#tab = tab;
    this.#taken = 0;
    this.#part("title").textContent = tab.title;
    this.#part("host").textContent = shownHost(tab.host);
    // A redirect before the first load cannot be detected, so this names only the tab.
    this.#part("host").title = VIEWER.opened(shownHost(tab.host));
    this.#part("out").href = tab.url;
    this.#part("report").hidden = this.#contact === "";
    this.#part("report").href = reportAddress(this.#contact, tab);
    this.#setState("loading", VIEWER.opening(shownHost(tab.host)));
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", SANDBOX);
    frame.setAttribute("credentialless", "");
    frame.referrerPolicy = "no-referrer";
    frame.title = tab.title;
    let isFirst = true;
    frame.addEventListener("load", () => {
      clearTimeout(this.#timer);
      if (!isFirst) this.#leaveSite();
      isFirst = false;
      this.#setState("shown", "");
    });
    frame.src = tab.url;
    this.#element.hidden = false;
    this.#part("page").replaceChildren(frame);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#setState("late", VIEWER.late),
      LATE_MS,
    );
  }

  focus() {
    this.#part("close").focus({ preventScroll: true });
  }

  close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#recheck);
    this.#element.hidden = true;
    this.#part("page").replaceChildren();
    this.#onLoading(false);
    this.#onClosed();
  }

  /**
   * Takes the focus back from a frame that took it by a script. A site that takes it repeatedly
   * becomes inert until the visitor points at it or presses Tab.
   */
  #keepFocus() {
    clearTimeout(this.#recheck);
    const frame = this.#part("page").firstElementChild;
    if (frame === null || document.activeElement !== frame || this.#isTabbing) return;
    if (isPressed(frame, this.#usedAt)) {
      // The pointer may be over the frame by chance, and the input may be the press that opened the
      // site, so check again later.
      const leftMs = this.#usedAt + ACTIVATION_MS - performance.now();
      if (leftMs > 0) this.#recheck = setTimeout(() => this.#keepFocus(), leftMs + 1);
      return;
    }
    this.#taken += 1;
    frame.inert = this.#taken > MAX_TAKEN && !this.#part("page").matches(":hover");
    this.focus();
  }

  #letIn() {
    const frame = this.#part("page").firstElementChild;
    if (frame) frame.inert = false;
  }

  /**
   * Hides the title and icon, because the browser does not reveal which page the frame shows now.
   */
  #leaveSite() {
    this.#part("icon").hidden = true;
    this.#part("host").textContent = VIEWER.left(shownHost(this.#tab.host));
    this.#part("host").title = "";
    this.#part("title").textContent = VIEWER.hidden;
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.#tab.url);
      this.#part("copied").textContent = COMMON.copied;
    } catch {
      this.#part("copied").textContent = VIEWER.notCopied;
    }
    setTimeout(() => {
      this.#part("copied").textContent = "";
    }, COPIED_MS);
  }

  #setState(state, text) {
    this.#element.dataset.state = state;
    this.#part("note").textContent = text;
    this.#onLoading(state !== "shown");
  }

  #part(name) {
    return this.#element.querySelector(`[data-part="${name}"]`);
  }
}

/**
 * Returns true if the visitor may have pressed something in `frame`. Its events do not reach this
 * page, but the browser counts a press there as an input here, too. Shortly after `usedAt`, when
 * the visitor last used this page, the pointer must also be over the frame.
 */
function isPressed(frame, usedAt) {
  const isPointedAt = frame.matches(":hover");
  const { userActivation } = navigator;
  if (!userActivation) return isPointedAt;
  const isOwnPressOver = performance.now() - usedAt > ACTIVATION_MS;
  return userActivation.isActive && (isPointedAt || isOwnPressOver);
}

/** Returns the link for reports: a mail whose subject contains the host, or a page. */
function reportAddress(contact, tab) {
  if (!contact.startsWith("mailto:")) return contact;
  return `${contact}?subject=${encodeURIComponent(`EveryTab: ${tab.host}`)}`;
}
