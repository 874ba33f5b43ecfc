import assert from "node:assert/strict";
import test from "node:test";
import { HIDDEN_TABS } from "../js/layout.js";
import {
  marqueeOf, OVERSCAN_ROWS, placeOnTrack, poolSize, rowsInView, rowsToPaint, rowsWanted,
  rowTop,
} from "../js/viewport.js";

test("the rows painted cover the view and never outnumber the pool", () => {
  for (const height of [1, 500, 844, 900, 1440]) {
    for (const rowHeight of [43, 52]) {
      for (let scrolled = 0; scrolled < 5_000; scrolled += 37) {
        const { first, end } = rowsInView(scrolled, height, rowHeight, 1_000);
        assert.ok(end - first <= poolSize(height, rowHeight));
        assert.ok(first * rowHeight <= scrolled);
        assert.ok(end * rowHeight >= scrolled + height);
      }
    }
  }
});

test("rows are painted on both sides of the view, but none that do not exist", () => {
  assert.deepEqual(rowsInView(0, 430, 43, 1_000), { first: 0, end: 10 + OVERSCAN_ROWS });
  assert.deepEqual(rowsInView(4_300, 430, 43, 1_000), {
    first: 100 - OVERSCAN_ROWS,
    end: 110 + OVERSCAN_ROWS,
  });
  assert.deepEqual(rowsInView(0, 430, 43, 3), { first: 0, end: 3 });
  assert.deepEqual(rowsInView(0, 430, 43, 0), { first: 0, end: 0 });
  const beyond = rowsInView(999_999, 430, 43, 10);
  assert.ok(beyond.first <= beyond.end && beyond.end <= 10);
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
      const seen = rowsInView(scrolled, 900, 43, total, null, 0);
      const next = rowsToPaint(seen, held, room, total);
      // A flick of two rows, before anything is painted again, shows no gap.
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
  assert.equal(rowsWanted(0, 430, 43), 40);
  assert.equal(rowsWanted(-500, 430, 43), 40);
  assert.equal(rowsWanted(4_300, 430, 43), 140);
});

test("rows below an open site are pushed down by its height, and no row is lost", () => {
  const gap = { row: 20, px: 675 };
  assert.equal(rowTop(20, 43, gap), 860);
  assert.equal(rowTop(21, 43, gap), 903 + 675);
  for (let scrolled = 0; scrolled < 4_000; scrolled += 13) {
    const { first, end } = rowsInView(scrolled, 900, 43, 1_000, gap);
    assert.ok(end - first <= poolSize(900, 43));
    for (let row = 0; row < 120; row += 1) {
      const top = rowTop(row, 43, gap);
      const seen = top < scrolled + 900 && top + 43 > scrolled;
      if (seen) assert.ok(row >= first && row < end, `row ${row} at ${scrolled}`);
    }
  }
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
          placeOnTrack(column, count, tabPx, shift, sign));
        // Now, and just before one more tab has left.
        for (const later of [0, sign * (tabPx - 0.01)]) {
          const lefts = places.map((at) => at + shift + later).sort((a, b) => a - b);
          lefts.slice(1).forEach((left, i) => assert.ok(Math.abs(left - lefts[i] - tabPx) < 1e-6));
          assert.ok(lefts[0] <= 1e-6 && lefts.at(-1) + tabPx >= widthPx - 1e-6, `${lefts}`);
        }
      }
    }
  }
});
