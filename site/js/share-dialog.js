// Owns the dialog in which a card is shown: its heading, its close button, its actions, and the
// message about the last action. Invariants: the focus is on the heading first, and returns when
// the dialog is closed; Escape closes only the dialog; a message is announced. Does not depend on
// the card's content.

import { button } from "./elements.js";
import { share } from "./share.js";
import { SHARE } from "./strings.js";

/** A dialog with a card. */
export class ShareDialog {
  #dialog = document.createElement("dialog");
  #content = document.createElement("div");
  #heading = document.createElement("h2");
  #actions = document.createElement("div");
  #status = document.createElement("p");
  #save = button(SHARE.save, () => void this.#savePicture());
  #returnTo = null;
  #what = null;
  #picture = null;

  /** `id` is the heading's id. */
  constructor(id) {
    this.#dialog.className = "card-dialog";
    this.#dialog.setAttribute("aria-labelledby", id);
    this.#dialog.setAttribute("closedby", "any");
    this.#heading.id = id;
    this.#heading.tabIndex = -1;
    this.#heading.autofocus = true;
    const close = button("×", () => this.close());
    close.className = "card-close";
    close.ariaLabel = SHARE.close;
    close.title = SHARE.closeKey;
    this.#content.className = "card-content";
    this.#actions.className = "card-actions";
    this.#status.className = "card-status";
    this.#status.setAttribute("role", "status");
    const shareButton = button(SHARE.share, () => void this.#share());
    shareButton.className = "main";
    this.#actions.append(this.#status, this.#save, shareButton);
    this.#dialog.append(close, this.#content, this.#actions);
    this.#dialog.addEventListener("close", () => this.#giveBackFocus());
    document.body.append(this.#dialog);
  }

  /** The heading, to be placed by the card. */
  get heading() {
    return this.#heading;
  }

  /**
   * Shows `nodes`, one of which contains the heading. The Share button shares `what`, {title, text,
   * url}. The other button saves `picture`, {name, content}: the name of the file, and the argument
   * of `drawPicture`. `returnTo` gets the focus at the end if the element that had it is gone.
   */
  show(nodes, { what, picture, returnTo }) {
    this.#what = what;
    this.#picture = picture;
    this.#returnTo = returnTo;
    this.say("");
    this.#content.replaceChildren(...nodes);
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#heading.focus({ preventScroll: true });
    this.#content.scrollTop = 0;
    this.#makeScrollable();
  }

  /** Hides the dialog. */
  close() {
    this.#dialog.close();
  }

  /** Shows a message about the last action. */
  say(text) {
    this.#status.textContent = text;
  }

  async #share() {
    this.say("");
    this.say(await share(this.#what));
  }

  async #savePicture() {
    const { name, content } = this.#picture;
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

/** Returns the page's address without the scheme, for people to read. */
function pageAddress() {
  const { host, pathname } = new URL(".", document.baseURI);
  return host + pathname.replace(/\/$/, "");
}
