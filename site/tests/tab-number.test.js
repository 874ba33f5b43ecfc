// Checks a tab's number in its scan, and its neighbours.

import assert from "node:assert/strict";
import test from "node:test";
import { neighboursOf, tabNumber } from "../js/tab-number.js";

const SCAN = { hosts: 30_104_233, bundles: 250_000 };
const numberOf = (scan, bundle, index, count = 120) => tabNumber(scan, { bundle, index, count });

test("in the first and the last bundle the number is exact", () => {
  assert.deepEqual(numberOf(SCAN, 0, 0), { number: 1, isExact: true });
  assert.deepEqual(numberOf(SCAN, 0, 41), { number: 42, isExact: true });
  assert.deepEqual(numberOf(SCAN, 249_999, 119), { number: 30_104_233, isExact: true });
  assert.deepEqual(numberOf(SCAN, 249_999, 0, 7), { number: 30_104_227, isExact: true });
  assert.deepEqual(numberOf({ hosts: 3, bundles: 1 }, 0, 2, 3), { number: 3, isExact: true });
});

test("elsewhere it is exact if the tabs before the bundle were counted", () => {
  const at = (bundle, index, first) => tabNumber(SCAN, { bundle, index, count: 120 }, first);
  assert.deepEqual(at(102_512, 60, 12_345_617), { number: 12_345_678, isExact: true });
  // Tabs were removed after this count.
  assert.deepEqual(at(102_512, 60, 30_104_173), { number: 12_344_000, isExact: false });
  assert.deepEqual(at(102_512, 60, 30_104_172), { number: 30_104_233, isExact: true });
  assert.equal(tabNumber({ hosts: 0, bundles: 3 }, { bundle: 1, index: 2, count: 9 }, 9), null);
});

test("after takedowns no two tabs have the same exact number", () => {
  const sizes = [100, 100, 100, 100, 100, 97, 100, 100, 100, 100];
  const exact = sizes.flatMap((count, bundle) => Array.from({ length: count }, (_, index) =>
    tabNumber({ hosts: 997, bundles: 10 }, { bundle, index, count }, bundle * 100)))
    .filter(({ isExact }) => isExact).map(({ number }) => number);
  assert.equal(new Set(exact).size, exact.length);
  // The last three numbers of the published scan exceed the present total.
  assert.equal(exact.length, 994);
});

test("elsewhere it is otherwise an estimate with the digits that are known", () => {
  assert.deepEqual(numberOf(SCAN, 102_512, 60), { number: 12_344_000, isExact: false });
  assert.deepEqual(numberOf({ hosts: 48_000, bundles: 400 }, 210, 50),
    { number: 25_300, isExact: false });
  assert.deepEqual(numberOf({ hosts: 170, bundles: 3 }, 1, 4, 57), { number: 62, isExact: false });
  for (const bundle of [1, 2, 77, 249_998]) {
    const { number } = numberOf(SCAN, bundle, 119);
    assert.ok(number >= 1_000 && number <= SCAN.hosts && number % 1_000 === 0, `${number}`);
  }
});

// The docstring states this error.
test("the estimate is near the true position when shards differ in size", () => {
  const shards = Array.from({ length: 1_000 }, (_, shard) => shard);
  const sizes = shards.map((shard) => 1_200 + Math.round(35 * Math.sin(shard)));
  const hosts = sizes.reduce((sum, size) => sum + size, 0);
  let before = 0;
  sizes.forEach((size, shard) => {
    const bundle = shard * 10;
    const { number } = numberOf({ hosts, bundles: 10_000 }, bundle, 0, size / 10);
    assert.ok(Math.abs(number - before) <= 2 * Math.sqrt(hosts), `${number} ${before}`);
    before += size;
  });
});

test("without a count of tabs there is no number", () => {
  assert.equal(numberOf({ hosts: 0, bundles: 3 }, 1, 2), null);
});

test("neighbours come from both sides, or from one at the bundle's ends", () => {
  const tabs = Array.from({ length: 20 }, (_, i) => `tab ${i}`);
  const at = (index, most = 8, all = tabs) =>
    neighboursOf(all, index, most).map((one) => one.index);
  assert.deepEqual(at(10), [6, 7, 8, 9, 11, 12, 13, 14]);
  assert.deepEqual(at(0), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(at(19), [11, 12, 13, 14, 15, 16, 17, 18]);
  assert.deepEqual(at(2), [0, 1, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(at(1, 8, ["a", "b", "c"]), [0, 2]);
  assert.deepEqual(at(0, 8, ["a"]), []);
  assert.equal(neighboursOf(tabs, 10, 8)[0].tab, "tab 6");
});
