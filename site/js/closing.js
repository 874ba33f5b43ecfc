// This module closes and reopens tabs, and moves the other tabs in the row. A closed tab keeps its
// number, so that links to other tabs remain valid. After the mouse closes a tab, the row's tabs
// keep their width until the pointer leaves the row, so that the next cross moves below the
// pointer.

import { ClosedTabs } from "./closed-tabs.js";
import { visitStorage } from "./visit-storage.js";

/** The cross takes up this part of a tab, measured from the tab's edge. */
const CROSS_PX = 28;
/** On a phone, a tap above or below the cross opens the tab. */
const PHONE_CROSS_HEIGHT_PX = 36;
const SLIDE_MS = 160;
const TEXT_FIELDS = "input, select, textarea, [contenteditable]";
const CLOSING_KEYS = ["Delete", "Backspace", "w"];

/** Closes and reopens tabs. */
export class TabClosing {
  #page;
  #marquee;
  #navigation;
  #closeSite;
  #showVisit;
  #closed = new ClosedTabs(visitStorage);
  #bar = null;
  #shown = null;
  #marked = null;
  #reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(page, { marquee, navigation, closeSite, showVisit }) {
    this.#page = page;
    this.#marquee = marquee;
    this.#navigation = navigation;
    this.#closeSite = closeSite;
    this.#showVisit = showVisit;
    const { container } = page.wall;
    container.addEventListener("click", (event) => this.#click(event), true);
    container.addEventListener("keydown", (event) => this.#press(event));
    container.addEventListener("pointermove", (event) => this.#point(event));
    container.addEventListener("pointerleave", () => this.#unlock());
    document.addEventListener("keydown", (event) => this.#pressUndo(event));
  }

  get count() {
    return this.#closed.count;
  }

  /** Must be called after each painting, because each wall has its own closed tabs. */
  painted() {
    const { shown, wall } = this.#page;
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#closed.select([shown.scan, shown.seed, shown.bundle].join());
    if (wall.closed.size === 0 && this.#closed.ofWall.length === 0) return;
    wall.setClosed(new Set(this.#closed.ofWall));
    this.#page.paint();
    // After a reload the bar is missing, but the visitor can still reopen tabs.
    if (this.#closed.ofWall.length > 0) void this.#showBar();
  }

  reopen(index) {
    const { wall } = this.#page;
    if (!wall.closed.has(index)) return;
    this.#closed.remove(index);
    this.#change(index, () => wall.closeTab(index, false));
    this.#bar?.update(this.#closed);
  }

  undo() {
    const index = this.#closed.ofWall.at(-1);
    if (index === undefined) return;
    this.#navigation.scrollTo(index);
    this.#page.paint();
    this.reopen(index);
    this.#marquee.show(index);
    this.#page.wall.setCursor(index);
    if (!document.activeElement.closest("button")) this.#page.wall.focus(index);
  }

  #close(index) {
    const { wall } = this.#page;
    if (index === wall.opened) {
      this.#closeSite();
      return;
    }
    const row = wall.rowOf(index);
    const column = wall.columnOf(row, index);
    const next = (row.cells[column + 1]?.tab && row.cells[column + 1]) ?? row.cells[column - 1];
    const nextFocus = next?.index ?? -1;
    const hadFocus = wall.indexOf(document.activeElement) === index;
    const reopened = this.#closed.add(index);
    if (reopened !== null) wall.closeTab(reopened, false);
    this.#change(index, () => wall.closeTab(index, true));
    if (hadFocus && !wall.focus(nextFocus)) wall.container.focus({ preventScroll: true });
    void this.#showBar();
  }

  /** Shows the bar. A failure is ignored, because closing works without it. */
  async #showBar() {
    try {
      const { ClosingBar } = await import("./closing-bar.js");
      this.#bar ??= new ClosingBar(this.#page, {
        undo: () => this.undo(), closeSite: this.#closeSite, showVisit: this.#showVisit,
      });
      this.#bar.update(this.#closed);
    } catch {
    }
  }

  #click(event) {
    const { wall } = this.#page;
    const index = wall.indexOf(event.target);
    // A click by the keyboard or a script has detail 0 and no position.
    if (index < 0 || event.detail === 0 || event.button !== 0) return;
    if (!this.#isOnCross(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.pointerType === "mouse" && index !== wall.opened) {
      wall.lockWidths(event.target.closest(".row"));
    }
    this.#close(index);
  }

  #press(event) {
    const index = this.#page.wall.indexOf(event.target);
    const isPlain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
    if (index < 0 || !isPlain || !CLOSING_KEYS.includes(event.key)) return;
    event.preventDefault();
    // If the focused tab is not in view, show it first, because the visitor cannot see what would
    // be closed.
    const { top, bottom } = event.target.getBoundingClientRect();
    if (bottom <= this.#page.headerPx || top >= window.innerHeight) this.#navigation.goTo(index);
    else this.#close(index);
  }

  #pressUndo(event) {
    const { ctrlKey, metaKey, shiftKey, altKey, target } = event;
    const key = event.key.toLowerCase();
    const isUndo = (ctrlKey || metaKey) && !shiftKey && key === "z";
    // Firefox passes Ctrl+Shift+T to the page. Chromium uses it to reopen its own tabs.
    const isReopen = shiftKey && key === "t";
    if (altKey || !(isUndo || isReopen) || target.closest(TEXT_FIELDS)) return;
    if (this.#closed.ofWall.length === 0) return;
    event.preventDefault();
    this.undo();
  }

  #point(event) {
    if (event.pointerType !== "mouse") return;
    const { lockedNode } = this.#page.wall;
    const link = event.target.closest(".tab");
    this.#mark(link && this.#isOnCross(event) ? link : null);
    if (lockedNode && lockedNode !== event.target.closest(".row")) this.#unlock();
  }

  #mark(link) {
    if (link === this.#marked) return;
    this.#marked?.classList.remove("on-cross");
    link?.classList.add("on-cross");
    this.#marked = link;
  }

  #unlock() {
    const { wall } = this.#page;
    this.#mark(null);
    const row = wall.rows.find(({ node }) => node === wall.lockedNode);
    if (row) this.slide(row, null, () => wall.lockWidths(null));
    else if (wall.lockedNode) wall.lockWidths(null);
  }

  #isOnCross({ target, clientX, clientY }) {
    const { skin, phone } = this.#page.layout;
    const { left, right, top, bottom } = target.closest(".tab").getBoundingClientRect();
    const offMiddlePx = Math.abs(clientY - (top + bottom) / 2);
    if (phone && offMiddlePx > PHONE_CROSS_HEIGHT_PX / 2) return false;
    return skin === "safari" && !phone ? clientX < left + CROSS_PX : clientX > right - CROSS_PX;
  }

  #change(index, change) {
    const { wall } = this.#page;
    const row = wall.rowOf(index);
    if (row) this.slide(row, index, change);
    else change();
  }

  /**
   * Calls `change`, paints the row, and animates its tabs from their former positions. If `index`
   * was in the row, this tab or its successor keeps its position; otherwise a visible tab does.
   */
  slide(row, index, change) {
    const { wall, paint, layout } = this.#page;
    this.#marquee.moveBy(row.node, 0);
    const before = placesOf(row);
    change();
    paint();
    const left = before.get(index);
    const kept = [...placesOf(row).keys()];
    const anchor = left === undefined
      ? [...before].find(([one, px]) => px >= 0 && kept.includes(one))
      : [kept.find((one) => one >= index) ?? kept[0], left];
    const now = placesOf(row).get(anchor?.[0]);
    if (now !== undefined) wall.moveTrack(row, row.shiftPx + anchor[1] - now);
    if (this.#reducedMotion.matches) return;
    const timing = { duration: SLIDE_MS, easing: "ease-out" };
    const places = placesOf(row);
    for (const cell of row.cells) {
      const at = places.get(cell.index);
      if (at === undefined || at > layout.widthPx || at < -row.tabPx) continue;
      const from = before.get(cell.index);
      if (from === undefined) {
        cell.link.animate({ opacity: [0, 1], transform: ["scaleX(.3)", "none"] }, timing);
        continue;
      }
      // A tab that wrapped to the row's other end moves by only one width, because a longer slide
      // would cross the row.
      const byPx = Math.abs(from - at) > 3 * row.tabPx ? row.tabPx : from - at;
      if (Math.abs(byPx) < 0.5) continue;
      cell.link.animate({ transform: [`translateX(${byPx}px)`, "none"] }, timing);
    }
  }
}

/** Maps the numbers of the row's tabs to their distances from its left edge, in pixels. */
function placesOf({ cells, lefts, shiftPx }) {
  return new Map(cells.flatMap(({ index }, column) =>
    (index < 0 ? [] : [[index, lefts[column] + shiftPx]])));
}
