// Owns what a visitor does with the wall: pointing, opening, walking with keys, stopping the
// motion, finding a site. Loaded once the first tabs are on screen.
// Invariants: until it is there, links do what links do; all painting goes through the visit.
// Must not know: formats, how a tab is drawn.

import { Drift } from "./drift.js";
import { firstTabOfRow, rowOfTab, rowsOfTabs } from "./layout.js";
import { HoverCard, SiteViewer } from "./open.js";
import { neighbour, scrollToShow } from "./reach.js";
import { rowsInView, rowTop } from "./viewport.js";

/** Rows begin to drift, and tabs go round, when nothing has been scrolled for a while. */
const REST_MS = 150;
const ROUND_MS = 2_000;
/** The share of the view that an open site takes. */
const SITE_SHARE = 0.75;
/** So long rows take to move apart, as css/everytab.css says. */
const PART_MS = 300;
/** So long a tab that was searched for stays lit up. */
const FOUND_MS = 12_000;

const byId = (id) => document.getElementById(id);

export class Hands {
  /** `visit` is what main.js owns: {wall, stream, layout, view, manifest, headerPx, paint}. */
  constructor(visit) {
    this.visit = visit;
    this.wall = visit.wall;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.drift = new Drift(this.wall);
    this.card = new HoverCard(byId("card"));
    this.viewer = new SiteViewer(byId("site"), visit.manifest.contact, () => this.#closed());
    this.search = null;
    this.timer = 0;
    this.scrolledPx = visit.view.scrolledPx;
    this.#listen();
    this.#setMotion();
    // For home screens; asked for only now, so that it is not in the way of the first tabs.
    const link = document.createElement("link");
    link.rel = "manifest";
    link.href = "site.webmanifest";
    document.head.append(link);
  }

  /** After each painting. While the page scrolls, rows stand: fewer layers for every frame. */
  painted() {
    const { scrolledPx } = this.visit.view;
    if (scrolledPx !== this.scrolledPx) this.drift.turn(0, 0);
    this.scrolledPx = scrolledPx;
    this.#rest(REST_MS);
  }

  /** Before tabs are dealt anew. */
  dealt() {
    if (this.viewer.isOpen) this.viewer.close();
  }

  /** After a change of the layout, and after opening and closing: pushes rows apart. */
  makeRoom() {
    const { wall, visit } = this;
    const { rowHeightPx } = visit.layout;
    const room = window.innerHeight - visit.headerPx - rowHeightPx;
    const px = Math.min(Math.round(window.innerHeight * SITE_SHARE), room);
    wall.gap = wall.opened < 0 ? null : { row: rowOfTab(visit.layout, wall.opened), px };
    if (wall.gap) this.viewer.place((wall.gap.row + 1) * rowHeightPx, px);
  }

  /** Lights up the tab that was searched for. */
  find(index) {
    this.#goTo(index);
    this.wall.markFound(index);
    setTimeout(() => this.wall.found === index && this.wall.markFound(-1), FOUND_MS);
  }

  #listen() {
    const { container } = this.wall;
    container.addEventListener("click", (event) => this.#open(event));
    container.addEventListener("keydown", (event) => this.#walk(event));
    container.addEventListener("focusin", (event) => {
      const index = this.wall.indexOf(event.target);
      if (index < 0) return;
      this.wall.cursor = index;
      if (!event.target.matches(":focus-visible")) return;
      this.drift.show(index);
      this.#showCard(event);
    });
    container.addEventListener("focusout", () => this.card.hide());
    container.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "mouse") return;
      this.#hold(event.target.closest(".row"));
      this.#showCard(event);
    });
    container.addEventListener("pointerleave", () => {
      this.#hold(null);
      this.card.hide();
    });
    byId("motion").addEventListener("click", ({ currentTarget }) => {
      const stop = currentTarget.getAttribute("aria-pressed") !== "true";
      currentTarget.setAttribute("aria-pressed", String(stop));
      this.#setMotion();
    });
    byId("find").addEventListener("focus", () => void this.#loadSearch());
    if (document.activeElement === byId("find")) void this.#loadSearch();
    this.calm.addEventListener("change", () => this.#setMotion());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.drift.turn(0, 0);
      this.#rest(0);
    });
    window.addEventListener("scroll", () => this.card.hide(), { passive: true });
  }

  /** Lets what is on screen drift, after a while and then again and again; hidden, nothing. */
  #rest(ms) {
    clearTimeout(this.timer);
    if (document.hidden) return;
    this.timer = setTimeout(() => {
      const { view, layout } = this.visit;
      this.#order();
      const seen = rowsInView(
        view.scrolledPx, view.heightPx, layout.rowHeightPx, Infinity, this.wall.gap, 0,
      );
      this.drift.turn(seen.first, seen.end);
      this.#rest(ROUND_MS);
    }, ms);
  }

  /** A node that is moved loses the focus: it is given back without a word. */
  #order() {
    const focused = document.activeElement;
    this.wall.order();
    if (focused !== document.activeElement) focused.focus({ preventScroll: true });
  }

  #hold(row) {
    if (this.drift.pointed === row) return;
    this.drift.pointed = row;
    this.#rest(0);
  }

  #setMotion() {
    const stopped = byId("motion").getAttribute("aria-pressed") === "true";
    this.wall.still = stopped || this.calm.matches;
    this.#rest(0);
  }

  #tabOf(event) {
    const index = this.wall.indexOf(event.target);
    return { index, tab: index < 0 ? undefined : this.visit.stream?.at(index) };
  }

  #showCard(event) {
    const { tab } = this.#tabOf(event);
    if (tab) this.card.show(event.target.closest(".tab"), tab);
  }

  #open(event) {
    const { index, tab } = this.#tabOf(event);
    const plain = event.button === 0 &&
      !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!tab || !plain) return;
    this.wall.cursor = index;
    if (!tab.frameable) return;
    event.preventDefault();
    this.card.hide();
    this.wall.markFound(-1);
    this.wall.markOpened(index);
    this.drift.show(index);
    this.#part();
    this.viewer.open(tab);
    this.#scrollTo(index, this.wall.gap.px);
  }

  #closed() {
    const index = this.wall.opened;
    this.wall.markOpened(-1);
    this.#part();
    if (!this.wall.focus(index)) this.wall.container.focus({ preventScroll: true });
  }

  /** Moves the rows apart or together, before everybody's eyes. */
  #part() {
    const { classList } = this.wall.container;
    this.makeRoom();
    classList.add("parting");
    setTimeout(() => classList.remove("parting"), PART_MS);
    this.visit.paint();
  }

  #walk(event) {
    const { stream, layout, view } = this.visit;
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !stream) return;
    const at = this.wall.indexOf(event.target);
    const firstInView = Math.ceil(view.scrolledPx / layout.rowHeightPx);
    const rows = rowsOfTabs(layout, stream.total, stream.ended);
    const shown = Math.min(stream.total, firstTabOfRow(layout, rows));
    let next = at < 0 && event.key.startsWith("Arrow")
      ? Math.min(firstTabOfRow(layout, firstInView), shown - 1)
      : neighbour(layout, at, event.key, shown);
    if (next === null || next < 0) return;
    event.preventDefault();
    // The tab beneath is the one seen beneath: rows have drifted apart.
    const upOrDown = /Up|Down/.test(event.key) && at >= 0;
    const beneath = upOrDown ? this.drift.nearest(rowOfTab(layout, next), at) : -1;
    if (beneath >= 0) next = beneath;
    this.#goTo(next);
  }

  #goTo(index) {
    this.#scrollTo(index);
    this.visit.paint();
    this.drift.show(index);
    this.wall.focus(index);
  }

  #scrollTo(index, belowPx = 0) {
    const { layout, view } = this.visit;
    const { rowHeightPx } = layout;
    const top = rowTop(rowOfTab(layout, index), rowHeightPx, this.wall.gap);
    const bottom = top + rowHeightPx + belowPx;
    const to = scrollToShow(top, bottom, window.scrollY, view.heightPx, rowHeightPx);
    if (to !== null) window.scrollTo(0, to);
  }

  async #loadSearch() {
    if (this.search) return;
    this.search = true;
    try {
      const { SearchBox } = await import("./search.js");
      const { visit } = this;
      const iconOf = (host) => visit.stream?.at(visit.stream.indexOf(host))?.icon ?? "";
      this.search = new SearchBox(byId("find"), byId("found"), () => visit.manifest, iconOf);
    } catch {
      this.search = null;
    }
  }
}
