// This module moves the rows. The compositor animates one transform per row, and a timer moves tabs
// that left at one edge to the other. A row does not move if it is hovered, held or focused, if it
// contains the open or found tab, or while the page scrolls. A stopped row keeps its visible
// position.

import { shiftToShow } from "./navigation.js";
import { orderRows } from "./reading-order.js";

/** Rows start to move this long after the last scroll. */
const START_DELAY_MS = 150;
/** The interval between checks for rows in view and tabs that left at an edge. */
const UPDATE_INTERVAL_MS = 2_000;
/** A row's animation is replaced before this many cycles are over. */
const CYCLES = 50;

/** Moves the rows in view, like a marquee. */
export class Marquee {
  #page;
  #wall;
  #animations = new WeakMap();
  #pointedRow = null;
  /** Row nodes that another module moves, for example while they are dragged. */
  #held = new Set();
  #timer = 0;
  #scrolledPx;
  #onMoved = () => {};

  constructor(page) {
    this.#page = page;
    this.#wall = page.wall;
    this.#scrolledPx = page.view.scrolledPx;
    this.#wall.onReset((row) => this.#stop(row));
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#moveOnly(0, 0);
      this.#schedule(0);
    });
  }

  /**
   * `listener(rows)` is called when these rows' tracks may have moved for a reason other than a
   * scroll.
   */
  onMoved(listener) {
    this.#onMoved = listener;
  }

  setStopped(isStopped) {
    this.#wall.setStill(isStopped);
    this.#schedule(0);
  }

  /** Must be called after each painting. */
  painted() {
    const { scrolledPx } = this.#page.view;
    // Each animated row is a separate layer, which slows down every scroll frame.
    if (scrolledPx !== this.#scrolledPx) this.#moveOnly(0, 0);
    this.#scrolledPx = scrolledPx;
    this.#schedule(START_DELAY_MS);
  }

  pointAt(rowNode) {
    if (this.#pointedRow === rowNode) return;
    this.#pointedRow = rowNode;
    this.#schedule(0);
  }

  hold(rowNode) {
    this.#held.add(rowNode);
    this.#schedule(0);
  }

  release(rowNode) {
    this.#held.delete(rowNode);
    this.#schedule(0);
  }

  moveBy(rowNode, px) {
    const row = this.#wall.rows.find(({ node }) => node === rowNode);
    if (!row) return false;
    this.#stop(row);
    this.#wall.moveTrack(row, row.shiftPx + px);
    this.#onMoved([row]);
    return true;
  }

  /** Stops the tab's row, and moves it until the whole tab is visible. */
  show(index) {
    const row = this.#wall.rowOf(index);
    if (!row || !this.#wall.holds(row, index)) return;
    this.#stop(row);
    const left = row.lefts[this.#wall.columnOf(row, index)] + row.shiftPx;
    const by = shiftToShow(left, row.tabPx, this.#wall.layout.widthPx);
    if (by !== 0) this.#wall.moveTrack(row, row.shiftPx + by);
  }

  /**
   * Returns the leftmost fully visible tab in the row of the tab `index`, or with `isLast` the
   * rightmost one; -1 if there is none.
   */
  edge(index, isLast) {
    const row = this.#wall.rowOf(index);
    const { widthPx } = this.#wall.layout;
    let best = -1;
    let bestLeft = isLast ? -Infinity : Infinity;
    row?.cells.forEach(({ tab }, column) => {
      const left = row.lefts[column] + this.#shiftNow(row);
      const isWhole = tab && left > -1 && left + row.tabPx < widthPx + 1;
      if (!isWhole || (isLast ? left <= bestLeft : left >= bestLeft)) return;
      best = column;
      bestLeft = left;
    });
    return row?.cells[best]?.index ?? -1;
  }

  /**
   * Returns the tab in the painted row `number` that is visually nearest to the tab `index`, or -1.
   */
  nearest(number, index) {
    const row = this.#wall.rows.find((one) => one.number === number);
    const from = this.#wall.rowOf(index);
    if (!row || !from) return -1;
    const middle = (of, column) => of.lefts[column] + this.#shiftNow(of) + of.tabPx / 2;
    const wished = middle(from, this.#wall.columnOf(from, index));
    const distance = (column) => Math.abs(middle(row, column) - wished);
    let best = -1;
    row.cells.forEach(({ tab }, column) => {
      if (tab && (best < 0 || distance(column) < distance(best))) best = column;
    });
    return row.cells[best]?.index ?? -1;
  }

  /**
   * Updates the rows after `ms`, and then repeatedly while rows may move and the page is visible.
   */
  #schedule(ms) {
    clearTimeout(this.#timer);
    if (document.hidden) return;
    this.#timer = setTimeout(() => {
      const { scrolledPx, heightPx } = this.#page.view;
      orderRows(this.#wall);
      const { first, end } = this.#wall.positions.rowsIn(scrolledPx, heightPx);
      this.#moveOnly(first, end);
      this.#onMoved(this.#wall.rows);
      if (!this.#wall.still) this.#schedule(UPDATE_INTERVAL_MS);
    }, ms);
  }

  #moveOnly(first, end) {
    const wall = this.#wall;
    const focusedRow = document.activeElement?.closest(".row");
    const mustStop = (row) => wall.still || row.node === this.#pointedRow ||
      row.node === focusedRow || this.#held.has(row.node) ||
      wall.holds(row, wall.opened) || wall.holds(row, wall.found);
    for (const row of wall.rows) {
      const isInView = row.number >= first && row.number < end;
      if (isInView && !mustStop(row)) this.#move(row);
      else this.#stop(row);
    }
  }

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

  /** Returns the track's visible distance from its start, in pixels. */
  #shiftNow(row) {
    const animation = this.#animations.get(row);
    if (!animation) return row.shiftPx;
    const cycles = (animation.currentTime ?? 0) / row.marquee.cycleMs;
    return row.shiftPx + row.marquee.sign * cycles * row.cyclePx;
  }
}
