// This module writes the browser's history entries. Opening a site adds an entry if no site is open
// or if it is a dive, and closing it goes back past all these entries. An entry stores the wall and
// the position where the visitor left it.

import { firstTabOfRow } from "./layout.js";
import { saveStream } from "./saved-stream.js";
import { readVisit, writeVisit } from "./visit-storage.js";

/**
 * The address is written this long after the last painting, because browsers limit how often this
 * is allowed.
 */
const REST_MS = 400;
/**
 * The storage key for the position at "pagehide", because Chromium reloads a page with an older
 * state of its history entry.
 */
const LEFT = "left";

/** The history entries of this page. */
export class Steps {
  #page;
  #address;
  #timer = 0;

  constructor(page) {
    this.#page = page;
    this.#address = page.address;
    this.#address.beforeStep = () => this.#write();
    window.addEventListener("pagehide", () => {
      this.#write();
      const { seed, site } = this.#address;
      writeVisit(LEFT, { seed, site, anchor: history.state?.anchor });
    });
    this.#goToLeft();
  }

  /** Must be called after each painting. Writes the address if no other painting follows. */
  painted() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#write(), REST_MS);
  }

  /** Must be called before the site in tab `index` is opened. */
  openSite(host, index, isOwnStep) {
    const address = this.#address;
    const isFirst = address.opened === null;
    const isStep = isFirst || isOwnStep;
    // This entry stores the position at which the site was opened.
    if (isStep) this.#write();
    const before = isFirst ? null : history.state?.under;
    address.opened = { host, index };
    if (isStep) {
      const under = {
        key: before ? before.key : window.navigation?.currentEntry.key,
        steps: history.length + 1,
        depth: (before?.depth ?? 0) + 1,
      };
      address.push({ ...history.state, under });
    }
    this.#write();
  }

  /**
   * Goes back to the entry before all sites, and resolves when the browser has gone there. If this
   * entry cannot be identified, only the address changes.
   */
  async closeSite() {
    if (!this.#address.opened) return;
    this.#address.opened = null;
    const { under } = history.state ?? {};
    // Pages that the visitor opened in the frame have entries, too, which we skip.
    if (under?.key && navigation.entries().some(({ key }) => key === under.key)) {
      const stepped = nextStep();
      await navigation.traverseTo(under.key).finished.then(() => stepped, () => this.#write());
    } else if (under && !under.key && history.length === under.steps) {
      const stepped = nextStep();
      history.go(-under.depth);
      await stepped;
    } else {
      this.#write();
    }
  }

  #write() {
    clearTimeout(this.#timer);
    const { stream, layout, pendingAnchor, wall, shown } = this.#page;
    const address = this.#address;
    if (!stream || !layout || pendingAnchor || stream.total === 0) return;
    // The wall for this address is still loading.
    if (address.seed !== shown.seed || address.site !== shown.site) return;
    const { row, offsetPx } = wall.positions.anchorAt(window.scrollY);
    // If the tab in the link is too far down, the link stays until the visitor scrolls.
    const isTooFar = address.tab >= stream.total && window.scrollY === 0;
    const tab = row > 0 ? firstTabOfRow(layout, row) : 0;
    if (!isTooFar) address.tab = tab;
    address.replace({
      ...shown,
      tabs: saveStream(stream),
      anchor: { tab, offsetPx },
      index: address.opened?.index ?? -1,
      under: history.state?.under,
    });
  }

  #goToLeft() {
    const { seed, site } = this.#address;
    const left = readVisit(LEFT);
    const [{ type }] = performance.getEntriesByType("navigation");
    if (type !== "reload" || left?.seed !== seed || left.site !== site) return;
    const { tab, offsetPx } = left.anchor ?? {};
    const isAnchor = Number.isSafeInteger(tab) && tab >= 0 && Number.isFinite(offsetPx);
    if (isAnchor) this.#page.pendingAnchor = { tab, offsetPx };
  }
}

function nextStep() {
  return new Promise((resolve) => window.addEventListener("popstate", resolve, { once: true }));
}
