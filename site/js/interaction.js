// Owns what a visitor can do with the wall beside following links: connects pointer, keyboard,
// motion, opening and search. Loaded once the first tabs are on screen.
// Invariant: until it is loaded, links work as links do.
// Must not know: formats, how a tab is drawn, how the parts do their work.

import { HoverCard } from "./hover-card.js";
import { KeyboardNavigation } from "./keyboard.js";
import { Marquee } from "./marquee.js";
import { SiteOpening } from "./opening.js";

/** A tab that was searched for is highlighted for this long. */
const FOUND_MS = 12_000;

const byId = (id) => document.getElementById(id);

/** Everything that reacts to the visitor; main.js tells it what happens to the wall. */
export class Interaction {
  #visit;
  #wall;
  #marquee;
  #navigation;
  #card;
  #opening;
  /** The SearchBox; true while it is loading, null before. */
  #search = null;

  /** `visit` is the object of main.js: {wall, stream, layout, view, manifest, headerPx, paint}. */
  constructor(visit) {
    this.#visit = visit;
    this.#wall = visit.wall;
    this.#marquee = new Marquee(visit, byId("motion"));
    this.#navigation = new KeyboardNavigation(visit, this.#marquee);
    this.#card = new HoverCard(byId("card"));
    const parts = { marquee: this.#marquee, navigation: this.#navigation, card: this.#card };
    this.#opening = new SiteOpening(visit, parts, byId("site"));
    this.#listen();
    linkWebAppManifest();
  }

  /** To be called after each painting. */
  painted() {
    this.#marquee.painted();
  }

  /** To be called before the wall starts again with other tabs. */
  reset() {
    this.#opening.close();
  }

  /** To be called after a change of the layout. */
  makeRoom() {
    this.#opening.makeRoom();
  }

  /** Goes to the tab `index`, which was searched for, and highlights it for a while. */
  find(index) {
    this.#navigation.goTo(index);
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
      this.#showCard(event.target);
    });
    container.addEventListener("focusout", () => this.#card.hide());
    container.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "mouse") return;
      this.#marquee.pointAt(event.target.closest(".row"));
      this.#showCard(event.target);
    });
    container.addEventListener("pointerleave", () => {
      this.#marquee.pointAt(null);
      this.#card.hide();
    });
    window.addEventListener("scroll", () => this.#card.hide(), { passive: true });
    byId("find").addEventListener("focus", () => void this.#loadSearch());
    if (document.activeElement === byId("find")) void this.#loadSearch();
  }

  #showCard(element) {
    const index = this.#wall.indexOf(element);
    const tab = index < 0 ? undefined : this.#visit.stream?.at(index);
    if (tab) this.#card.show(element.closest(".tab"), tab);
  }

  async #loadSearch() {
    if (this.#search) return;
    this.#search = true;
    try {
      const { SearchBox } = await import("./search.js");
      const visit = this.#visit;
      const iconOf = (host) => visit.stream?.at(visit.stream.indexOf(host))?.icon ?? "";
      this.#search = new SearchBox(byId("find"), byId("found"), () => visit.manifest, iconOf);
    } catch {
      this.#search = null;
    }
  }
}

/** Needed for home screens only; linked late because Chromium fetches it before the first tabs. */
function linkWebAppManifest() {
  const link = document.createElement("link");
  link.rel = "manifest";
  link.href = "site.webmanifest";
  document.head.append(link);
}
