// This module shows a card in a dialog. The focus is on the heading first, and returns when the
// dialog is closed.

import { button, closeButton } from "./elements.js";
import { share } from "./share.js";
import { SHARE } from "./strings.js";

/** A dialog with a card. */
export class ShareDialog {
  #dialog = document.createElement("dialog");
  #content = document.createElement("div");
  #heading = document.createElement("h2");
  #actions = document.createElement("div");
  #status = document.createElement("p");
  #announcement = document.createElement("p");
  #save = button(SHARE.save, () => void this.#savePicture());
  #returnTo = null;
  /** The argument of `share` for the Share button: {title, text, url}. */
  what = null;
  /** The Save button's file name and its argument for `drawPicture`: {name, content}. */
  picture = null;

  constructor(id) {
    this.#dialog.className = "card-dialog";
    this.#dialog.setAttribute("aria-labelledby", id);
    this.#dialog.setAttribute("closedby", "any");
    this.#heading.id = id;
    this.#heading.tabIndex = -1;
    this.#heading.autofocus = true;
    const close = closeButton(SHARE.close, () => this.close());
    close.title = SHARE.closeKey;
    this.#content.className = "card-content";
    this.#actions.className = "card-actions";
    this.#status.className = "card-status";
    this.#status.setAttribute("role", "status");
    this.#announcement.className = "unseen";
    this.#announcement.setAttribute("role", "status");
    const shareButton = button(SHARE.share, () => void this.#share());
    shareButton.className = "main";
    this.#actions.append(this.#status, this.#announcement, this.#save, shareButton);
    this.#dialog.append(close, this.#content, this.#actions);
    this.#dialog.addEventListener("close", () => this.#giveBackFocus());
    document.body.append(this.#dialog);
  }

  get heading() {
    return this.#heading;
  }

  /**
   * `nodes` must contain the heading. When the dialog closes, `returnTo` gets the focus if the
   * element that had it before is gone.
   */
  show(nodes, returnTo) {
    this.#returnTo = returnTo;
    this.say("");
    this.announce("");
    this.#content.replaceChildren(...nodes);
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#heading.focus({ preventScroll: true });
    this.#content.scrollTop = 0;
    this.#makeScrollable();
  }

  close() {
    this.#dialog.close();
  }

  say(text) {
    this.#status.textContent = text;
  }

  /** For screen readers, which do not read a changed heading again. */
  announce(text) {
    this.#announcement.textContent = text;
  }

  async #share() {
    this.say("");
    this.say(await share(this.what));
  }

  async #savePicture() {
    const { name, content } = this.picture;
    this.say("");
    this.#save.disabled = true;
    try {
      const { drawPicture, savePicture } = await import("./card-picture.js");
      savePicture(await drawPicture({ ...content, footer: SHARE.footer(pageAddress()) }), name);
      this.say(SHARE.saved(name));
    } catch {
      this.say(SHARE.notSaved);
    }
    this.#save.disabled = false;
    // A disabled button loses the focus.
    if (this.#dialog.open && !this.#dialog.contains(document.activeElement)) this.#save.focus();
  }

  /** If the content is higher than the dialog and has no controls, the keyboard can scroll it. */
  #makeScrollable() {
    const content = this.#content;
    const isHigh = content.scrollHeight > content.clientHeight;
    if (isHigh && content.querySelector("a, button") === null) content.tabIndex = 0;
    else content.removeAttribute("tabindex");
  }

  #giveBackFocus() {
    if (document.activeElement === document.body) this.#returnTo?.focus({ preventScroll: true });
  }
}

function pageAddress() {
  const { host, pathname } = new URL(".", document.baseURI);
  return host + pathname.replace(/\/$/, "");
}
