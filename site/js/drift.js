// Owns the motion of the rows on screen: one transform a row, which the compositor animates; a
// timer takes the tabs that left at one edge to the other.
// Invariants: a row that is not on screen, pointed at, focused, open or told to stand still has
// no animation at all; a row that stops stands where it was seen.
// Must not know: what a tab shows, how the page scrolls.

import { shiftToShow } from "./reach.js";

/** Rounds that one animation makes before it is started anew. */
const ROUNDS = 50;

export class Drift {
  /** `wall` is the TabWall whose rows drift. */
  constructor(wall) {
    this.wall = wall;
    wall.beforeMove = (row) => this.#stop(row);
    /** The row node that the pointer rests on. */
    this.pointed = null;
  }

  /** Lets the rows [first, end), which are on screen, drift and no other, and tabs go round. */
  turn(first, end) {
    const { wall } = this;
    const held = document.activeElement?.closest(".row");
    for (const row of wall.rows) {
      const seen = row.number >= first && row.number < end;
      const stands = wall.still || row.node === this.pointed || row.node === held ||
        wall.holds(row, wall.opened) || wall.holds(row, wall.found);
      if (!seen || stands) this.#stop(row);
      else this.#go(row);
    }
  }

  /** Moves the tab's belt so that the whole tab is seen. */
  show(index) {
    const { wall } = this;
    const row = wall.rowOf(index);
    if (!row) return;
    this.#stop(row);
    const left = row.places[index - row.first] + row.shift;
    const by = shiftToShow(left, row.tabPx, wall.layout.widthPx);
    if (by !== 0) wall.shiftTo(row, row.shift + by);
  }

  /** The tab of a painted row that is seen nearest to the tab `index`, or -1. */
  nearest(number, index) {
    const row = this.wall.rows.find((one) => one.number === number);
    const from = this.wall.rowOf(index);
    if (!row || !from) return -1;
    const middle = (of, column) =>
      of.places[column] + (of.motion ? shiftNow(of) : of.shift) + of.tabPx / 2;
    const wished = middle(from, index - from.first);
    let best = -1;
    row.cells.forEach(({ tab }, column) => {
      const far = (one) => Math.abs(middle(row, one) - wished);
      if (tab && (best < 0 || far(column) < far(best))) best = column;
    });
    return best < 0 ? -1 : row.first + best;
  }

  #go(row) {
    if (row.motion) {
      this.wall.place(row, shiftNow(row));
      if (row.motion.currentTime < (ROUNDS - 1) * row.drift.cycleMs) return;
      this.#stop(row);
    }
    const to = row.shift + row.drift.sign * ROUNDS * row.roundPx;
    const transform = [`translateX(${row.shift}px)`, `translateX(${to}px)`];
    row.motion = row.belt.animate({ transform }, ROUNDS * row.drift.cycleMs);
  }

  #stop(row) {
    if (!row.motion) return;
    const shift = shiftNow(row);
    row.motion.cancel();
    row.motion = null;
    this.wall.shiftTo(row, shift);
  }
}

function shiftNow(row) {
  const rounds = (row.motion.currentTime ?? 0) / row.drift.cycleMs;
  return row.shift + row.drift.sign * rounds * row.roundPx;
}
