import assert from "node:assert/strict";
import test from "node:test";
import {
  HIDDEN_TABS, leftOnTrack, marqueeOf, MAX_WALL_PX, OVERSCAN_ROWS, poolSize, RowPositions,
  rowsToPaint,
} from "../js/layout.js";
import { originFor } from "../js/scroll-anchor.js";

const GAPS = [null, { row: 0, px: 300 }, { row: 20, px: 675 }];

test("the rows in a view cover it, are rows that exist, and fit in the pool", () => {
  for (const gap of GAPS) {
    const positions = new RowPositions(43, gap);
    for (const height of [1, 500, 844, 1440]) {
      for (let scrolled = 0; scrolled < 5_000; scrolled += 37) {
        const { first, end } = positions.rowsIn(scrolled, height, 1_000);
        assert.ok(end - first + 2 * OVERSCAN_ROWS <= poolSize(height, 43));
        for (let row = 0; row < 160; row += 1) {
          const top = positions.topOf(row);
          const isSeen = top < scrolled + height && top + 43 > scrolled;
          assert.equal(isSeen, row >= first && row < end, `row ${row} at ${scrolled}`);
        }
      }
    }
  }
  const positions = new RowPositions(43);
  assert.deepEqual(positions.rowsIn(-200, 430, 1_000), { first: 0, end: 6 });
  assert.deepEqual(positions.rowsIn(0, 430, 3), { first: 0, end: 3 });
  assert.deepEqual(positions.rowsIn(0, 430, 0), { first: 0, end: 0 });
  assert.deepEqual(positions.rowsIn(999_999, 430, 10), { first: 10, end: 10 });
});

test("row to pixels and pixels to row agree, with a gap and with any origin", () => {
  for (const gap of GAPS) {
    for (const origin of [0, 7, 3_000_000]) {
      const positions = new RowPositions(46, gap, origin);
      for (let row = origin; row < origin + 60; row += 1) {
        const top = positions.topOf(row);
        assert.equal(positions.rowAt(top), row);
        assert.equal(positions.rowAt(top + 23), row + 0.5);
        assert.deepEqual(positions.anchorAt(top + 5), { row, offsetPx: 5 });
      }
    }
  }
});

test("a view that begins in the gap is anchored at the row below it", () => {
  const positions = new RowPositions(43, { row: 20, px: 675 });
  assert.equal(positions.topOf(20), 860);
  assert.equal(positions.topOf(21), 903 + 675);
  assert.deepEqual(positions.anchorAt(903), { row: 21, offsetPx: -675 });
  assert.deepEqual(positions.anchorAt(1_000), { row: 21, offsetPx: 1_000 - 903 - 675 });
  assert.deepEqual(positions.rowsIn(910, 600, 1_000), { first: 21, end: 21 });
});

test("the rows never end: the wall has room for any row, and few steps move its origin", () => {
  let positions = new RowPositions(46);
  let moves = 0;
  for (let row = 0; row < 4_000_000; row += 1_000) {
    const origin = originFor(row, positions);
    if (origin !== positions.origin) moves += 1;
    positions = new RowPositions(46, null, origin);
    assert.ok(positions.topOf(row) >= 0 && positions.topOf(row) <= MAX_WALL_PX - 1_000_000);
    assert.equal(originFor(row, positions), origin, "it stays there");
    assert.equal(originFor(row + 10, positions), origin, "a step further too");
    assert.equal(originFor(Math.max(0, row - 10), positions), origin, "and a step back");
  }
  assert.ok(moves > 10 && moves < 60, `${moves}`);
  for (let row = 4_000_000; row >= 0; row -= 1_000) {
    positions = new RowPositions(46, null, originFor(row, positions));
    assert.ok(positions.topOf(row) >= 0);
  }
  assert.equal(positions.origin, 0, "its first row is at its top again");
});

test("rows are painted several at a time, ahead of the one who scrolls, and cover the view", () => {
  for (const [step, total] of [[60, 1_000], [-60, 1_000], [7, 40], [2_000, 1_000], [-33, 9]]) {
    const room = poolSize(900, 43);
    let held = { first: 0, end: 0 };
    let paintings = 0;
    let frames = 0;
    const way = total * 43 - 900;
    for (let gone = 0; gone < way; gone += Math.abs(step)) {
      const scrolled = step > 0 ? gone : way - gone;
      const seen = new RowPositions(43).rowsIn(scrolled, 900, total);
      const next = rowsToPaint(seen, held, room, total);
      // A flick over two rows shows no gap even if nothing was painted in between.
      assert.ok(next.first <= Math.max(0, seen.first - 2), `${scrolled}`);
      assert.ok(next.end >= Math.min(total, seen.end + 2), `${scrolled}`);
      assert.ok(next.first >= 0 && next.end <= total && next.end - next.first <= room);
      if (next.first !== held.first || next.end !== held.end) paintings += 1;
      held = next;
      frames += 1;
    }
    if (Math.abs(step) === 60) assert.ok(paintings < frames / 4, `${paintings} of ${frames}`);
  }
});

test("rows that came anew below, or are no more, are seen by what is painted", () => {
  const room = poolSize(430, 43);
  const few = rowsToPaint({ first: 0, end: 6 }, { first: 0, end: 0 }, room, 6);
  assert.deepEqual(few, { first: 0, end: 6 });
  assert.deepEqual(rowsToPaint({ first: 0, end: 10 }, few, room, 500), { first: 0, end: room });
  const shrunk = rowsToPaint({ first: 3, end: 5 }, { first: 0, end: room }, room, 5);
  assert.deepEqual(shrunk, { first: 0, end: 5 });
});

test("rows are wanted several views ahead, also when the view is above the wall", () => {
  const positions = new RowPositions(43);
  assert.equal(positions.rowsWanted(0, 430), 40);
  assert.equal(positions.rowsWanted(-500, 430), 40);
  assert.equal(positions.rowsWanted(4_300, 430), 140);
});

test("a row's cycle takes 90 to 150 seconds, to either side, from any start", () => {
  const marquees =
    Array.from({ length: 500 }, (_, i) => marqueeOf(Math.imul(i + 1, 0x9e3779b1) >>> 0));
  assert.ok(marquees.every(({ cycleMs }) => cycleMs >= 90_000 && cycleMs <= 150_000));
  assert.ok(marquees.every(({ phase }) => phase >= 0 && phase < 1));
  const right = marquees.filter(({ sign }) => sign === 1).length;
  assert.ok(right > 150 && right < 350, `${right} of 500 to the right`);
  assert.ok(new Set(marquees.map(({ phase }) => phase)).size > 100);
});

test("wherever a track is, its tabs fill the row until one more has left, and none twice", () => {
  for (const [count, tabPx] of [[4, 180], [10, 171.25], [19, 150]]) {
    const widthPx = (count - HIDDEN_TABS) * tabPx;
    for (const sign of [1, -1]) {
      for (let step = 0; step < 300; step += 1) {
        const shift = sign * step * tabPx * 0.317;
        const places = Array.from({ length: count }, (_, column) =>
          leftOnTrack(column, tabPx, count * tabPx, widthPx, shift, sign));
        for (const later of [0, sign * (tabPx - 0.01)]) {
          const lefts = places.map((at) => at + shift + later).sort((a, b) => a - b);
          lefts.slice(1).forEach((left, i) => assert.ok(Math.abs(left - lefts[i] - tabPx) < 1e-6));
          assert.ok(lefts[0] <= 1e-6 && lefts.at(-1) + tabPx >= widthPx - 1e-6, `${lefts}`);
        }
      }
    }
  }
});
