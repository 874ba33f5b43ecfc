// Owns the motion of the rows: which rows move, and the animation of each. The compositor animates
// one transform a row; a timer takes the tabs that left at one edge to the other.
// Invariants: a row that is out of view, pointed at, focused, or that holds an open or found tab
// has no animation; neither has any row while the page scrolls, is hidden, or motion is stopped; a
// row that stops stays where it was seen.
// Must not know: what a tab shows, why the page scrolls.

import { shiftToShow } from "./navigation.js";
import { rowsInView } from "./viewport.js";

/** Rows start to move when the page has not been scrolled for this long. */
const START_DELAY_MS = 150;
/** The time between two looks at what is in view and which tabs left at an edge. */
const UPDATE_INTERVAL_MS = 2_000;
/** One animation runs for this many cycles; then another one replaces it. */
const CYCLES = 50;

/** Moves the rows in view, like a marquee. */
export class Marquee {
  #visit;
  #wall;
  /** The animation of each row that moves. */
  #animations = new WeakMap();
  #pointedRow = null;
  #timer = 0;
  #scrolledPx;
  #reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  /** `visit` is the object of main.js; `stopButton` is pressed while no row may move. */
  constructor(visit, stopButton) {
    this.#visit = visit;
    this.#wall = visit.wall;
    this.#scrolledPx = visit.view.scrolledPx;
    this.#wall.onReset((row) => this.#stop(row));
    const update = () => this.#setStill(stopButton.getAttribute("aria-pressed") === "true");
    stopButton.addEventListener("click", () => {
      const stop = stopButton.getAttribute("aria-pressed") !== "true";
      stopButton.setAttribute("aria-pressed", String(stop));
      update();
    });
    this.#reducedMotion.addEventListener("change", update);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#moveOnly(0, 0);
      this.#schedule(0);
    });
    update();
  }

  /** To be called after each painting: stops all rows while the page scrolls. */
  painted() {
    const { scrolledPx } = this.#visit.view;
    // Each animated row is a layer of its own, which makes every frame of a scroll slower.
    if (scrolledPx !== this.#scrolledPx) this.#moveOnly(0, 0);
    this.#scrolledPx = scrolledPx;
    this.#schedule(START_DELAY_MS);
  }

  /** Stops the row node that the pointer is on, or none for null, and lets the last one move. */
  pointAt(rowNode) {
    if (this.#pointedRow === rowNode) return;
    this.#pointedRow = rowNode;
    this.#schedule(0);
  }

  /** Stops the tab's row and moves its track so that the whole tab is seen. */
  show(index) {
    const row = this.#wall.rowOf(index);
    if (!row) return;
    this.#stop(row);
    const left = row.lefts[index - row.first] + row.shiftPx;
    const by = shiftToShow(left, row.tabPx, this.#wall.layout.widthPx);
    if (by !== 0) this.#wall.moveTrack(row, row.shiftPx + by);
  }

  /** Returns the tab of the painted row `number` that is seen nearest to the tab `index`, or -1. */
  nearest(number, index) {
    const row = this.#wall.rows.find((one) => one.number === number);
    const from = this.#wall.rowOf(index);
    if (!row || !from) return -1;
    const middle = (of, column) => of.lefts[column] + this.#shiftNow(of) + of.tabPx / 2;
    const wished = middle(from, index - from.first);
    const distance = (column) => Math.abs(middle(row, column) - wished);
    let best = -1;
    row.cells.forEach(({ tab }, column) => {
      if (tab && (best < 0 || distance(column) < distance(best))) best = column;
    });
    return best < 0 ? -1 : row.first + best;
  }

  #setStill(stopped) {
    this.#wall.setStill(stopped || this.#reducedMotion.matches);
    this.#schedule(0);
  }

  /** Updates the motion after `ms` and then every few seconds, unless the page is hidden. */
  #schedule(ms) {
    clearTimeout(this.#timer);
    if (document.hidden) return;
    this.#timer = setTimeout(() => {
      const { view, layout } = this.#visit;
      this.#orderRows();
      const { first, end } = rowsInView(
        view.scrolledPx, view.heightPx, layout.rowHeightPx, Infinity, this.#wall.gap, 0,
      );
      this.#moveOnly(first, end);
      this.#schedule(UPDATE_INTERVAL_MS);
    }, ms);
  }

  /** Restores the focus afterwards: a node that is moved in the document loses it. */
  #orderRows() {
    const focused = document.activeElement;
    this.#wall.order();
    if (focused !== document.activeElement) focused.focus({ preventScroll: true });
  }

  /** Moves those of the rows [first, end) that may move, and stops all others. */
  #moveOnly(first, end) {
    const wall = this.#wall;
    const focusedRow = document.activeElement?.closest(".row");
    for (const row of wall.rows) {
      const isInView = row.number >= first && row.number < end;
      const mustStop = wall.still || row.node === this.#pointedRow || row.node === focusedRow ||
        wall.holds(row, wall.opened) || wall.holds(row, wall.found);
      if (isInView && !mustStop) this.#move(row);
      else this.#stop(row);
    }
  }

  /** Starts the row's animation, or keeps it going. */
  #move(row) {
    const animation = this.#animations.get(row);
    const { sign, cycleMs } = row.marquee;
    if (animation) {
      this.#wall.wrapTrack(row, this.#shiftNow(row));
      if (animation.currentTime < (CYCLES - 1) * cycleMs) return;
      this.#stop(row);
    }
    const to = row.shiftPx + sign * CYCLES * row.cyclePx;
    const transform = [`translateX(${row.shiftPx}px)`, `translateX(${to}px)`];
    this.#animations.set(row, row.track.animate({ transform }, CYCLES * cycleMs));
  }

  #stop(row) {
    const animation = this.#animations.get(row);
    if (!animation) return;
    const shiftPx = this.#shiftNow(row);
    animation.cancel();
    this.#animations.delete(row);
    this.#wall.moveTrack(row, shiftPx);
  }

  /** How far the row's track is from its start, in pixels, as seen now. */
  #shiftNow(row) {
    const animation = this.#animations.get(row);
    if (!animation) return row.shiftPx;
    const cycles = (animation.currentTime ?? 0) / row.marquee.cycleMs;
    return row.shiftPx + row.marquee.sign * cycles * row.cyclePx;
  }
}
