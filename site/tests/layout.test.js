import assert from "node:assert/strict";
import test from "node:test";
import {
  activeColumn, firstTabOfRow, HIDDEN_TABS, rowLayout, rowOfTab, rowsOfTabs,
  skinOf, tabPxOfRow, tabsInRow,
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

test("every row shows at least two tabs, which fill it, and some more beyond its edges", () => {
  for (const width of WIDTHS) {
    const layout = rowLayout(width, false);
    layout.counts.forEach((count, row) => {
      assert.ok(count >= 2 + HIDDEN_TABS && count <= layout.maxColumns);
      assert.ok(Math.abs(tabPxOfRow(layout, row) * (count - HIDDEN_TABS) - width) < 1e-6);
    });
  }
});

test("tabs on a phone stay wide enough to read and rows high enough to touch", () => {
  const layout = rowLayout(390, true);
  assert.ok(layout.phone && layout.counts.every((_, row) => tabPxOfRow(layout, row) >= 100));
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

test("the visitor's own browser is told by what it says of itself", () => {
  const brands = (...names) => names.map((brand) => ({ brand, version: "1" }));
  const chromium = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/156.0.0.0 Safari/537.36";
  assert.equal(skinOf(brands("Chromium", "Google Chrome"), chromium), "chrome");
  assert.equal(skinOf(undefined, chromium), "chrome");
  assert.equal(skinOf(brands("Chromium", "Microsoft Edge"), `${chromium} Edg/156.0`), "edge");
  assert.equal(skinOf(undefined, "Mozilla/5.0 (X11; rv:140.0) Gecko/20100101 Firefox/140.0"),
    "firefox");
  const ios = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 ";
  assert.equal(skinOf(undefined, `${ios}Version/18.0 Mobile/15E148 Safari/604.1`), "safari");
  assert.equal(skinOf(undefined, `${ios}FxiOS/140.0 Mobile/15E148 Safari/604.1`), "firefox");
  assert.equal(skinOf(undefined, `${ios}CriOS/156.0 Mobile/15E148 Safari/604.1`), "chrome");
  assert.equal(skinOf(undefined, `${ios}EdgiOS/156.0 Mobile/15E148 Safari/604.1`), "edge");
  assert.equal(skinOf(undefined, ""), "chrome");
});
