// Owns sharing on the wall: the open site, the found site, a group, the wall itself with a summary
// of the visit. Loaded on demand. Does not depend on how a card looks, or on how something is
// shared.

import { writeAddress } from "./address.js";
import { shownHost } from "./host-name.js";
import { newShareBar, openSiteCard, openVisit, shareNow } from "./open-card.js";
import { withoutWww } from "./search-keys.js";
import { groupAddress } from "./share-address.js";
import { partOfTab } from "./stream.js";
import { SHARE, SITE_CARD } from "./strings.js";
import { tabNumber } from "./tab-number.js";

/** The summary shows at most this many icons. */
const MAX_ICONS = 25;

/** Shares the wall and its parts. */
export class WallSharing {
  #page;
  #closedTabs;
  #seenTabs;
  /** The ShareBar, or null until it is loaded. */
  #bar = null;
  /** The tab that the bar is about, its wall, and the tab that was open when the bar appeared. */
  #subject = { index: -1, shown: null, opened: -1 };

  /**
   * `page` is main.js's object; `closedTabs()` returns how many tabs are closed, `seenTabs()` the
   * SeenTabs or null.
   */
  constructor(page, { closedTabs, seenTabs }) {
    this.#page = page;
    this.#closedTabs = closedTabs;
    this.#seenTabs = seenTabs;
  }

  /**
   * Must be called after each painting. Hides the bar if its tab is no longer in view, or if
   * another site is open.
   */
  painted() {
    const { wall, shown } = this.#page;
    const { index, opened } = this.#subject;
    if (index < 0) return;
    const isSame = shown === this.#subject.shown && opened === wall.opened;
    if (!isSame || !wall.rowOf(index)) this.#hide();
  }

  /** Offers the card of the tab `index` that was found on the wall `shown`. */
  async found(index, shown) {
    const { manifest } = this.#page;
    if (shown !== this.#page.shown) return;
    const place = await this.#placeOf(index);
    if (!place || shown !== this.#page.shown) return;
    const { tabs, bundle, slot } = place;
    const number = tabNumber(manifest, { bundle, index: slot, count: tabs.length });
    const name = shownHost(withoutWww(tabs[slot].host));
    const words = number ? SITE_CARD.sentence(name, number, manifest.hosts) : name;
    await this.#offer(index, words, SITE_CARD.open, () => void this.showCard(index));
  }

  /** Offers to share the group of tabs `members`, which have this top-level `domain`. */
  async group(domain, members) {
    const [first] = members;
    const { number } = this.#partOf(first);
    const words = SHARE.group(domain, members.length);
    await this.#offer(first, words, SHARE.share, async () => {
      const said = await shareNow({ title: words, text: words, url: groupAddress(number) });
      if (said) this.#bar.say(said);
    });
  }

  async #offer(index, words, label, onPress) {
    const { wall, shown } = this.#page;
    this.#bar ??= await newShareBar(wall.container.closest("main"), () =>
      wall.container.focus({ preventScroll: true }));
    if (!this.#bar || shown !== this.#page.shown) return;
    this.#subject = { index, shown, opened: wall.opened };
    this.#bar.show(words, label, onPress);
  }

  #hide() {
    this.#subject = { index: -1, shown: null, opened: -1 };
    this.#bar.hide();
  }

  /** Shows the card of the site in tab `index`. */
  async showCard(index) {
    const { manifest, wall, notify } = this.#page;
    const place = await this.#placeOf(index);
    if (!place) {
      notify(SHARE.unavailable);
      return;
    }
    const { tabs, bundle, slot } = place;
    const scene = { manifest, bundle, tabs, index: slot, returnTo: wall.container };
    await openSiteCard(scene, notify);
  }

  /** Shows the summary of the visit, with which the wall can be shared. */
  async showVisit() {
    const { manifest, wall, stream, view, notify } = this.#page;
    const hosts = Math.max(manifest.hosts, stream.ended ? stream.total : 0);
    const isAllClosed = wall.container.classList.contains("all-closed");
    const { rowHeightPx } = wall.positions;
    await openVisit({
      hosts,
      closed: isAllClosed ? hosts : this.#closedTabs(),
      seen: this.#seenTabs(),
      depthPx: wall.positions.rowAt(view.scrolledPx + view.heightPx) * rowHeightPx,
      icons: this.#iconsInView(),
      url: this.#wallAddress(),
      returnTo: wall.container,
    }, notify);
  }

  /** Returns the address of this wall at the place in view. */
  #wallAddress() {
    const { seed, tab, site } = this.#page.address;
    const hash = writeAddress({ seed, tab, site, open: false, skin: "" });
    return new URL(`./${hash}`, document.baseURI).href;
  }

  #iconsInView() {
    const cells = this.#page.wall.rows.flatMap((row) => row.cells);
    const icons = cells.map(({ tab }) => tab?.icon).filter(Boolean);
    return [...new Set(icons)].slice(0, MAX_ICONS);
  }

  #partOf(index) {
    const { parts } = this.#page.stream;
    return parts[partOfTab(parts, index)];
  }

  /** Resolves to the tab's {bundle, slot, tabs}; null if its bundle cannot be loaded. */
  async #placeOf(index) {
    const { stream } = this.#page;
    if (index < 0 || index >= stream.total) return null;
    const { start, number } = this.#partOf(index);
    const tabs = stream.held.get(number) ?? (await stream.fetchTabs(number, false)).tabs;
    return tabs?.[index - start] ? { bundle: number, slot: index - start, tabs } : null;
  }
}
