// This module shares the wall and its parts. It is loaded on demand.

import { writeAddress } from "./address.js";
import { loadFirstTab } from "./first-tab.js";
import { shownHost } from "./host-name.js";
import { newShareBar, openSiteCard, openVisit, shareNow } from "./open-card.js";
import { withoutWww } from "./search-keys.js";
import { groupAddress } from "./share-address.js";
import { partOfTab } from "./stream.js";
import { SHARE, SITE_CARD } from "./strings.js";
import { tabNumber } from "./tab-number.js";

const MAX_ICONS = 25;

/** Shares the wall and its parts. */
export class WallSharing {
  #page;
  #closedTabs;
  #seenTabs;
  #bar = null;
  /**
   * The index of the tab that the bar is about, its wall, and the tab that was open when the bar
   * appeared.
   */
  #subject = { index: -1, shown: null, opened: -1 };

  /** `seenTabs()` returns the SeenTabs or null. */
  constructor(page, { closedTabs, seenTabs }) {
    this.#page = page;
    this.#closedTabs = closedTabs;
    this.#seenTabs = seenTabs;
  }

  /**
   * Must be called after each painting. Hides the bar if its tab is no longer in view, or if the
   * wall or its open tab has changed.
   */
  painted() {
    const { wall, shown } = this.#page;
    const { index, opened } = this.#subject;
    if (index < 0) return;
    const isSame = shown === this.#subject.shown && opened === wall.opened;
    if (!isSame || !wall.rowOf(index)) this.#hide();
  }

  async found(index, shown) {
    const { manifest } = this.#page;
    if (shown !== this.#page.shown) return;
    const place = await this.#placeOf(index);
    if (!place || shown !== this.#page.shown) return;
    const { tabs, bundle, slot } = place;
    const scene = { manifest, bundle, index: slot, count: tabs.length };
    const name = shownHost(withoutWww(tabs[slot].host));
    const wordsOf = (number) => (number ? SITE_CARD.sentence(name, number, manifest.hosts) : name);
    const number = tabNumber(manifest, scene);
    const say = await this.#offer(index, wordsOf(number), SITE_CARD.open, () =>
      void this.showCard(index));
    const first = number && bundle > 0 ? await loadFirstTab(scene) : null;
    say(wordsOf(tabNumber(manifest, scene, first)));
  }

  /** `members` are the indices of a group's tabs, which have this top-level `domain`. */
  async group(domain, members) {
    const [first] = members;
    const { number } = this.#partOf(first);
    const words = SHARE.group(domain, members.length);
    const what = { title: words, text: words, url: groupAddress(number) };
    const say = await this.#offer(first, words, SHARE.share, (sayLater) =>
      void shareNow(what, (said) => sayLater(said || words)));
    say(words);
  }

  /**
   * `onPress(say)` is called when the bar's button is pressed. Resolves to `say(words)`, which does
   * nothing when the bar has another subject.
   */
  async #offer(index, words, label, onPress) {
    const { wall, shown } = this.#page;
    this.#bar ??= await newShareBar(wall.container.closest("main"), () =>
      wall.container.focus({ preventScroll: true }));
    if (!this.#bar || shown !== this.#page.shown) return () => {};
    const subject = { index, shown, opened: wall.opened };
    this.#subject = subject;
    const say = (said) => {
      if (this.#subject === subject) this.#bar.say(said);
    };
    this.#bar.show(words, label, () => onPress(say));
    return say;
  }

  #hide() {
    this.#subject = { index: -1, shown: null, opened: -1 };
    this.#bar.hide();
  }

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

  /** Resolves to {bundle, slot, tabs}, or to null if the tab does not exist or cannot be loaded. */
  async #placeOf(index) {
    const { stream } = this.#page;
    if (index < 0 || index >= stream.total) return null;
    const { start, number } = this.#partOf(index);
    const tabs = stream.held.get(number) ?? (await stream.fetchTabs(number, false)).tabs;
    return tabs?.[index - start] ? { bundle: number, slot: index - start, tabs } : null;
  }
}
