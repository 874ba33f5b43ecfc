import assert from "node:assert/strict";
import test from "node:test";
import {
  cardPlace, OVERSCAN_ROWS, poolSize, rowsInView, rowsWanted, scrollToShow,
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

test("rows are wanted several views ahead, also when the view is above the wall", () => {
  assert.equal(rowsWanted(0, 430, 43), 40);
  assert.equal(rowsWanted(-500, 430, 43), 40);
  assert.equal(rowsWanted(4_300, 430, 43), 140);
});

test("the view scrolls only for rows that are not whole in it", () => {
  assert.equal(scrollToShow(10, 430, 430, 43), null);
  assert.equal(scrollToShow(19, 430, 430, 43), null);
  const down = scrollToShow(20, 430, 430, 43);
  assert.ok(down + 430 >= 21 * 43 && down <= 20 * 43);
  const up = scrollToShow(9, 430, 430, 43);
  assert.ok(up <= 9 * 43 && up + 430 >= 10 * 43);
  assert.equal(scrollToShow(0, 430, 430, 43), 0);
});

test("the hover card stays inside the view and off its tab", () => {
  for (const left of [-50, 0, 700, 1_400]) {
    for (const top of [0, 200, 449, 451, 860]) {
      const place = cardPlace({ left, top, bottom: top + 37 }, 288, 1_440, 900);
      assert.ok(place.left >= 8 && place.left + 288 <= 1_440 - 8);
      if (place.top !== undefined) assert.ok(place.top > top + 37 && place.top < 500);
      else assert.ok(900 - place.bottom < top);
    }
  }
  assert.equal(cardPlace({ left: 100, top: 0, bottom: 37 }, 288, 200, 900).left, 8);
});
