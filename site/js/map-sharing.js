// This module shares the map's view and the chosen tab's card, and counts the sites that the
// visitor finds and opens on the map. It loads other modules on demand.

import { writeMapAddress } from "./map-address.js";
import { openSiteCard, shareNow } from "./open-card.js";
import { SHARE } from "./strings.js";

/** Connects the map page's Share buttons. */
export class MapSharing {
  #viewButton;
  #mapOf;
  #manifestOf;
  #notify;
  #returnTo;

  /**
   * `viewButton`, `cardButton` and `siteLink` share the view, show the card, and open the site.
   * `returnTo()` returns the element that gets the focus after the card.
   */
  constructor({ viewButton, cardButton, siteLink, mapOf, manifestOf, notify, returnTo }) {
    this.#viewButton = viewButton;
    this.#mapOf = mapOf;
    this.#manifestOf = manifestOf;
    this.#notify = notify;
    this.#returnTo = returnTo;
    viewButton.addEventListener("click", () => void this.#shareView());
    cardButton.addEventListener("click", () => void this.#showCard());
    siteLink.addEventListener("click", () => void count("countOpened", mapOf().site));
  }

  begin() {
    this.#viewButton.disabled = false;
  }

  /** Must be called when the visitor has found a site by its name. */
  found(host) {
    void count("countFound", host);
  }

  async #shareView() {
    const { motion, site, order } = this.#mapOf();
    const view = motion.isWhole ? null : motion.end;
    // An address with a site has no order, because it opens in the default order.
    const hash = writeMapAddress({ site, order: site ? "" : order, view });
    const url = new URL(location.pathname + hash, location.href).href;
    await shareNow({ title: SHARE.mapTitle, text: SHARE.mapText, url }, this.#notify);
  }

  async #showCard() {
    const map = this.#mapOf();
    const { bundle, slot } = map.tab ?? {};
    const bySlot = map.tabsOf(bundle);
    if (!bySlot?.has(slot)) {
      this.#notify(SHARE.unavailable);
      return;
    }
    const tabs = [...bySlot.values()];
    const index = [...bySlot.keys()].indexOf(slot);
    const returnTo = this.#returnTo();
    const scene = { manifest: this.#manifestOf(), bundle, tabs, index, returnTo };
    await openSiteCard(scene, this.#notify);
  }
}

/** `name` names a function in visit-counts.js. */
async function count(name, host) {
  try {
    const counts = await import("./visit-counts.js");
    counts[name](host);
  } catch {
    // The summary of the visit then lacks this site.
  }
}
