import assert from "node:assert/strict";
import test from "node:test";
import {
  activeColumn, firstTabOfRow, MAX_WALL_PX, maxRows, neighbour, rowLayout, rowOfTab, rowsOfTabs,
  tabsInRow,
} from "../js/layout.js";

const WIDTHS = [0, 1, 320, 390, 599, 600, 768, 1440, 2560, 3840, 7680];

test("every tab stands in exactly one row at every width", () => {
  for (const width of WIDTHS) {
    const layout = rowLayout(width, false);
    let tab = 0;
    for (let row = 0; row < 100; row += 1) {
      assert.equal(firstTabOfRow(layout, row), tab, `width ${width} row ${row}`);
      for (let column = 0; column < tabsInRow(layout, row); column += 1) {
        assert.equal(rowOfTab(layout, tab), row, `width ${width} tab ${tab}`);
        tab += 1;
      }
    }
  }
});

test("rows agree far down the wall as they do at its top", () => {
  const layout = rowLayout(1440, false);
  for (const row of [1_000_000, 3_700_001]) {
    const first = firstTabOfRow(layout, row);
    assert.equal(rowOfTab(layout, first), row);
    assert.equal(rowOfTab(layout, first - 1), row - 1);
  }
});

test("no row holds fewer than two tabs nor more than the layout's maximum", () => {
  for (const width of WIDTHS) {
    const layout = rowLayout(width, false);
    for (const count of layout.counts) {
      assert.ok(count >= 2 && count <= layout.maxColumns);
    }
  }
});

test("tabs on a phone stay wide enough to read and rows high enough to touch", () => {
  const layout = rowLayout(390, true);
  assert.ok(390 / layout.maxColumns >= 80, `${layout.maxColumns} columns`);
  assert.ok(layout.rowHeightPx >= 44);
});

test("a row that is not full is shown only when no tab follows", () => {
  const layout = rowLayout(1440, false);
  const full = firstTabOfRow(layout, 5);
  assert.equal(rowsOfTabs(layout, full, false), 5);
  assert.equal(rowsOfTabs(layout, full, true), 5);
  assert.equal(rowsOfTabs(layout, full + 1, false), 5);
  assert.equal(rowsOfTabs(layout, full + 1, true), 6);
  assert.equal(rowsOfTabs(layout, 0, true), 0);
});

test("the wall never grows higher than browsers can scroll", () => {
  const layout = rowLayout(390, true);
  const rows = rowsOfTabs(layout, 40_000_000, false);
  assert.equal(rows, maxRows(layout));
  assert.ok(rows * layout.rowHeightPx <= MAX_WALL_PX);
});

test("the active tab is one of the row's own, and not the same in every row", () => {
  const layout = rowLayout(1440, false);
  const seen = new Set();
  for (let row = 0; row < 200; row += 1) {
    const column = activeColumn(layout, row);
    assert.ok(Number.isInteger(column) && column >= 0 && column < tabsInRow(layout, row));
    seen.add(column);
  }
  assert.ok(seen.size >= 6);
});

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
