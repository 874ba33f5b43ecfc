// This module opens a tab's site between two rows, and decides where the focus goes.

import { rowOfTab } from "./layout.js";
import { RowGap } from "./row-gap.js";
import { SiteViewer } from "./viewer.js";
import { countOpened } from "./visit-counts.js";

/** Opens and closes sites. */
export class SiteOpening {
  #page;
  #marquee;
  #navigation;
  #card;
  #steps;
  #viewer;
  gap;
  #isFollowing = false;
  /** Resolves when the address no longer contains the closed site. */
  #isLeft = Promise.resolve();

  constructor(page, element, { marquee, navigation, card, steps }) {
    const { container } = page.wall;
    this.#page = page;
    this.#marquee = marquee;
    this.#navigation = navigation;
    this.#card = card;
    this.#steps = steps;
    this.gap = new RowGap(page, element);
    this.#viewer = new SiteViewer(element, page.manifest.contact, {
      onClosed: () => this.#closed(),
      onLoading: (isLoading) => container.classList.toggle("loading", isLoading),
    });
    container.addEventListener("click", (event) => this.#click(event));
  }

  /** Closes the open site after the address has changed. Returns false if no site is open. */
  close() {
    if (!this.#viewer.isOpen) return false;
    this.#isFollowing = true;
    this.#viewer.close();
    this.#isFollowing = false;
    return true;
  }

  /** Closes the open site, and resolves when the address no longer contains it. */
  async leave() {
    if (this.#viewer.isOpen) this.#viewer.close();
    await this.#isLeft;
  }

  /**
   * Opens a tab's site. Returns false if the site cannot be framed. A dive adds a separate history
   * entry, and leaves the focus on `diveButton`, so that the space key dives again.
   */
  open(index, diveButton = null) {
    const { wall, stream, layout } = this.#page;
    const tab = stream?.at(index);
    if (!tab?.frameable) return false;
    countOpened(tab.host);
    this.#steps.openSite(tab.host, index, diveButton !== null);
    // A dive's row may be far away.
    if (diveButton && !wall.rowOf(index)) {
      this.#navigation.scrollTo(index);
      this.#page.paint();
    }
    wall.setCursor(index);
    this.#card.hide();
    wall.markFound(-1);
    wall.markOpened(index);
    this.gap.change(rowOfTab(layout, index), () =>
      this.#navigation.scrollTo(index, wall.positions.gap.px));
    this.#marquee.show(index);
    this.#viewer.open(tab);
    if (diveButton) diveButton.focus({ preventScroll: true });
    else this.#viewer.focus();
    return true;
  }

  #click(event) {
    const { wall } = this.#page;
    const index = wall.indexOf(event.target);
    const isPlainClick = event.button === 0 &&
      !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (index < 0 || !isPlainClick) return;
    wall.setCursor(index);
    const tab = this.#page.stream?.at(index);
    if (index === wall.opened || this.open(index)) event.preventDefault();
    else if (tab) countOpened(tab.host);
  }

  #closed() {
    const { wall } = this.#page;
    const index = wall.opened;
    // If the view starts in the gap, the rows below the gap keep their positions.
    const { row } = wall.positions.anchorAt(window.scrollY);
    wall.markOpened(-1);
    this.gap.change(row);
    if (!wall.focus(index)) wall.container.focus({ preventScroll: true });
    if (!this.#isFollowing) this.#isLeft = this.#steps.closeSite();
  }
}
