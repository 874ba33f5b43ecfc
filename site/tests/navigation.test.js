import assert from "node:assert/strict";
import test from "node:test";
import { firstTabOfRow, rowLayout, rowOfTab, tabsInRow } from "../js/layout.js";
import { cardPosition, neighbour, scrollToShow, shiftToShow } from "../js/navigation.js";

test("left and right walk through every tab and stop at both ends", () => {
  const layout = rowLayout(768, false);
  const total = 40;
  let tab = 0;
  for (let step = 1; step < total; step += 1) {
    tab = neighbour(layout, tab, "ArrowRight", total);
    assert.equal(tab, step);
  }
  assert.equal(neighbour(layout, tab, "ArrowRight", total), null);
  assert.equal(neighbour(layout, 0, "ArrowLeft", total), null);
  assert.equal(neighbour(layout, 7, "ArrowLeft", total), 6);
});

test("up and down move by one row and keep near the same place", () => {
  const layout = rowLayout(1440, false);
  const total = firstTabOfRow(layout, 50);
  for (let tab = 0; tab < total; tab += 1) {
    const row = rowOfTab(layout, tab);
    const share = (at) => {
      const its = rowOfTab(layout, at);
      return (at - firstTabOfRow(layout, its) + 0.5) / tabsInRow(layout, its);
    };
    for (const [key, step] of [["ArrowUp", -1], ["ArrowDown", 1]]) {
      const next = neighbour(layout, tab, key, total);
      if (row + step < 0 || row + step >= 50) {
        assert.equal(next, null);
      } else {
        assert.equal(rowOfTab(layout, next), row + step);
        assert.ok(Math.abs(share(next) - share(tab)) < 1 / 5);
      }
    }
  }
});

test("down into a short last row ends on its last tab", () => {
  const layout = rowLayout(1440, false);
  const total = firstTabOfRow(layout, 3) + 1;
  const endOfRowTwo = neighbour(layout, firstTabOfRow(layout, 2), "End", total);
  assert.equal(neighbour(layout, endOfRowTwo, "ArrowDown", total), total - 1);
  assert.equal(neighbour(layout, total - 1, "End", total), total - 1);
  assert.equal(neighbour(layout, endOfRowTwo, "Home", total), firstTabOfRow(layout, 2));
  assert.equal(neighbour(layout, 0, "x", total), null);
});

test("the view scrolls only for rows that are not whole in it", () => {
  const show = (row) => scrollToShow(row * 43, row * 43 + 43, 430, 430, 43);
  assert.equal(show(10), null);
  assert.equal(show(19), null);
  const down = show(20);
  assert.ok(down + 430 >= 21 * 43 && down <= 20 * 43);
  const up = show(9);
  assert.ok(up <= 9 * 43 && up + 430 >= 10 * 43);
  assert.equal(show(0), 0);
  assert.equal(scrollToShow(900, 1_900, 430, 430), 900, "what is too high is shown from its top");
});

test("the hover card stays inside the view and off its tab", () => {
  for (const left of [-50, 0, 700, 1_400]) {
    for (const top of [0, 200, 449, 451, 860]) {
      const place = cardPosition({ left, top, bottom: top + 37 }, 288, 1_440, 900);
      assert.ok(place.left >= 8 && place.left + 288 <= 1_440 - 8);
      if (place.top !== undefined) assert.ok(place.top > top + 37 && place.top < 500);
      else assert.ok(900 - place.bottom < top);
    }
  }
  assert.equal(cardPosition({ left: 100, top: 0, bottom: 37 }, 288, 200, 900).left, 8);
});

test("a track moves only as far as shows the whole tab", () => {
  assert.equal(shiftToShow(-50, 170, 1_000), 50);
  assert.equal(shiftToShow(900, 170, 1_000), -70);
  assert.equal(shiftToShow(830, 170, 1_000), 0);
  assert.equal(shiftToShow(0, 170, 1_000), 0);
});
