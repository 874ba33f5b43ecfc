// This module connects pointer, keyboard, motion, opening and search. It is loaded once the first
// tabs are on screen, and until then links work normally.

import { TabClosing } from "./closing.js";
import { TabDescriptions } from "./descriptions.js";
import { Dive } from "./dive.js";
import { shownHost } from "./host-name.js";
import { RowDragging } from "./dragging.js";
import { button } from "./elements.js";
import { HoverCard } from "./hover-card.js";
import { KeyboardNavigation } from "./keyboard.js";
import { Marquee } from "./marquee.js";
import { MissingTabs } from "./missing-tabs.js";
import { MotionButton } from "./motion-button.js";
import { NewTab } from "./new-tab.js";
import { Odometer } from "./odometer.js";
import { SiteOpening } from "./opening.js";
import { ScrollAnchor } from "./scroll-anchor.js";
import { Steps } from "./steps.js";
import { COMMON, KEYS, SEARCH, SHARE } from "./strings.js";
import { TabGroups } from "./tab-groups.js";
import { countFound } from "./visit-counts.js";
import { visitStorage } from "./visit-storage.js";

const FOUND_MS = 12_000;
/** The media in which css/modes.css applies. In all others, loading this file changes no styles. */
const MODES = "print, (forced-colors: active), (prefers-contrast: more)";
/**
 * Search is loaded this long after the first tabs, unless the visitor uses the search box earlier.
 */
const PREFETCH_MS = 1_500;

const byId = (id) => document.getElementById(id);

/** Everything that reacts to the visitor. */
export class Interaction {
  #page;
  #wall;
  #marquee;
  #navigation;
  #card;
  #descriptions;
  #opening;
  #steps;
  #closing;
  #anchor;
  #odometer;
  #dive;
  #missing;
  #groups;
  #sharing = null;
  /** The search box, true while it is loading, or null before that. */
  #search = null;
  /** The host that the visitor chose in the search box, or "" once its tab is found. */
  #searched = "";

  /** `page.lastKey` is the last key that was pressed in the search box. */
  constructor(page) {
    this.#page = page;
    this.#wall = page.wall;
    this.#marquee = new Marquee(page);
    new MotionButton(byId("motion"), (isStopped) => this.#marquee.setStopped(isStopped));
    this.#navigation = new KeyboardNavigation(page, this.#marquee);
    this.#card = new HoverCard(byId("card"));
    this.#descriptions = new TabDescriptions(this.#wall, (index) => this.#groups.wordsOf(index));
    this.#steps = new Steps(page);
    this.#opening = new SiteOpening(page, byId("site"), {
      marquee: this.#marquee, navigation: this.#navigation, card: this.#card, steps: this.#steps,
    });
    this.#anchor = new ScrollAnchor(page, () => this.makeRoom());
    this.#odometer = new Odometer(page, byId("bar"));
    this.#closing = new TabClosing(page, {
      marquee: this.#marquee, navigation: this.#navigation,
      closeSite: () => this.#opening.leave(),
      showVisit: () => void this.#showVisit(),
    });
    this.#groups = new TabGroups(page, {
      closing: this.#closing, describe: () => this.#descriptions.painted(),
      onToggle: (domain, members) =>
        void this.#share((sharing) => sharing.group(domain, members), false),
    });
    const diveButton = byId("dive");
    this.#dive = new Dive(page, diveButton, (index) => this.#opening.open(index, diveButton));
    new RowDragging(this.#wall.container, this.#marquee);
    new NewTab(this.#wall, byId("find"), this.#marquee);
    this.#missing = new MissingTabs(page);
    // Older scans have no map.
    byId("map-link").hidden = !page.manifest.map;
    this.#addShareButton();
    this.#listen();
    offerKeys(byId("key-list"), page);
    keepSkin(page.address);
    linkLate("stylesheet", "css/modes.css", MODES);
    linkLate("manifest", "site.webmanifest");
  }

  painted() {
    this.#anchor.painted();
    this.#marquee.painted();
    this.#descriptions.painted();
    this.#steps.painted();
    this.#closing.painted();
    this.#dive.painted();
    this.#missing.painted();
    this.#groups.painted();
    this.#sharing?.painted();
    this.#odometer.painted();
    if (this.#page.pendingSite) this.#seek(this.#page.pendingSite);
  }

  close() {
    return this.#opening.close();
  }

  /** Must be called after a change to the layout or to rows' positions. */
  makeRoom() {
    this.#opening.gap.update();
  }

  anchorOfView() {
    return this.#anchor.ofView();
  }

  goToAnchor(rows) {
    this.#anchor.go(rows);
  }

  /** Goes to the tab in the address, once it is loaded. */
  #seek({ host, index }) {
    const { stream, address } = this.#page;
    // A wall for a searched host starts with the host's bundle, so the host is among the loaded
    // tabs.
    const at = index >= 0 ? index : stream.indexOf(host);
    if (at >= 0 && at < stream.total && stream.at(at) === undefined) return;
    const isSearched = host === this.#searched;
    this.#searched = "";
    this.#page.pendingSite = null;
    this.#closing.reopen(at);
    const tab = stream.at(at);
    if (tab) countFound(tab.host);
    if (!tab) this.#page.notify(COMMON.notHere(shownHost(host)));
    // The history entry that the search added also serves the opened site.
    else if (isSearched) address.opened ??= { host, index: at };
    if (tab && address.opened && this.#open(at)) {
      if (isSearched) this.#light(at);
      return;
    }
    address.opened = null;
    if (tab) this.#find(at);
  }

  #open(index) {
    return this.#wall.opened === index || this.#opening.open(index);
  }

  #find(index) {
    this.#navigation.goTo(index);
    const { view, paint, shown } = this.#page;
    this.#page.pendingAnchor = { tab: index, offsetPx: -Math.round(view.heightPx / 2) };
    paint();
    this.#light(index);
    void this.#share((sharing) => sharing.found(index, shown), false);
  }

  #showVisit() {
    return this.#share((sharing) => sharing.showVisit());
  }

  /**
   * Loads the sharing module, and calls `act` with it. Reports a failure only if `isPressed`, when
   * the visitor pressed a button.
   */
  async #share(act, isPressed = true) {
    try {
      const { WallSharing } = await import("./wall-sharing.js");
      this.#sharing ??= new WallSharing(this.#page, {
        closedTabs: () => this.#closing.count, seenTabs: () => this.#odometer.seen,
      });
      await act(this.#sharing);
    } catch {
      if (isPressed) this.#page.notify(SHARE.unavailable);
    }
  }

  #addShareButton() {
    const share = button(SHARE.share, () => void this.#showVisit());
    share.className = "share-wall";
    share.title = SHARE.visit;
    share.ariaHasPopup = "dialog";
    byId("bar").append(share);
  }

  #light(index) {
    this.#wall.markFound(index);
    setTimeout(() => this.#wall.found === index && this.#wall.markFound(-1), FOUND_MS);
  }

  #listen() {
    const { container } = this.#wall;
    container.addEventListener("focusin", (event) => {
      const index = this.#wall.indexOf(event.target);
      if (index < 0) return;
      this.#wall.setCursor(index);
      if (!event.target.matches(":focus-visible")) return;
      this.#marquee.show(index);
      this.#showCard(event.target, true);
    });
    container.addEventListener("focusout", () => this.#card.hide());
    container.addEventListener("pointerdown", () => this.#card.hide());
    container.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "mouse") return;
      this.#marquee.pointAt(event.target.closest(".row"));
      this.#showCard(event.target, false);
    });
    container.addEventListener("pointerleave", () => {
      this.#marquee.pointAt(null);
      this.#card.hide();
    });
    window.addEventListener("scroll", () => this.#card.hide(), { passive: true });
    byId("site").querySelector('[data-part="card"]').addEventListener("click", () =>
      void this.#share((sharing) => sharing.showCard(this.#wall.opened)));
    const find = byId("find");
    for (const type of ["focus", "input"]) {
      find.addEventListener(type, () => void this.#loadSearch());
    }
    find.addEventListener("blur", () => this.#search || this.#sayOfSearch(""));
    if (document.activeElement === find) void this.#loadSearch();
    else setTimeout(() => void this.#prefetch(), PREFETCH_MS);
  }

  /**
   * Loads the search box and the messages early, because they cannot be loaded once the network has
   * failed.
   */
  async #prefetch() {
    try {
      await import("./messages.js");
      await import("./search.js");
    } catch {
      // Typing in the search box loads the module again, and reports a failure.
    }
  }

  #showCard(element, isFocused) {
    const index = this.#wall.indexOf(element);
    const tab = index < 0 ? undefined : this.#page.stream?.at(index);
    if (tab) this.#card.show(element.closest(".tab"), tab, isFocused);
  }

  async #loadSearch() {
    if (this.#search) return;
    this.#search = true;
    const input = byId("find");
    try {
      const { SearchBox } = await import("./search.js");
      const page = this.#page;
      this.#sayOfSearch("");
      this.#search = new SearchBox({
        input,
        list: byId("found"),
        status: byId("found-status"),
        manifestOf: () => page.manifest,
        iconOf: (host) => page.stream?.at(page.stream.indexOf(host))?.icon ?? "",
        goTo: (host, bundle) => {
          this.#searched = host;
          page.address.goTo(host, bundle);
        },
        wasEntered: page.lastKey === "Enter",
      });
    } catch {
      this.#search = null;
      const isUsed = input.value !== "" && document.activeElement === input;
      this.#sayOfSearch(isUsed ? SEARCH.unavailable : "");
    }
  }

  #sayOfSearch(text) {
    const status = byId("found-status");
    status.textContent = text;
    status.classList.toggle("words", text !== "");
  }
}

/** Shows the list of keys on request. The key ? works outside text fields and dialogs. */
function offerKeys(keysButton, page) {
  const show = async () => {
    try {
      const { showKeys } = await import("./key-list.js");
      showKeys();
    } catch {
      page.notify(KEYS.unavailable);
    }
  };
  keysButton.disabled = false;
  keysButton.addEventListener("click", () => void show());
  document.addEventListener("keydown", ({ key, ctrlKey, metaKey, altKey, target }) => {
    const isElsewhere = ctrlKey || metaKey || altKey || target.closest("input, select") ||
      document.querySelector("dialog[open]") !== null;
    if (key === "?" && !isElsewhere) void show();
  });
}

/** Stores the wall's style for the other pages in this browser tab. */
function keepSkin(address) {
  const keep = () => {
    visitStorage.setItem("skin", byId("skin").value);
    visitStorage.setItem("chosen-skin", address.skin);
  };
  byId("skin").addEventListener("change", keep);
  window.addEventListener("pagehide", keep);
}

/** Links a file now, because a link in index.html would delay the tabs. */
function linkLate(rel, href, media = "") {
  document.head.append(Object.assign(document.createElement("link"), { rel, href, media }));
}
