// The map's orders without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { readMap, readMapAddress, tilePath, writeMapAddress } from "../js/map-address.js";
import {
  levelFor, tabAt, tabsInView, tilesAt, tilesInView, wholeView, worldOf,
} from "../js/map-geometry.js";
import {
  areaAt, labelsFor, mapOfOrder, placesFile, readOrder, tabInPlaces,
} from "../js/map-order-format.js";
import { planOf } from "../js/map-plan.js";
import { areaLabel, inOrderWords } from "../js/map-words.js";
import { withMap } from "./sample-map.mjs";
import { withOrders } from "./sample-orders.mjs";
import { mapFormat, sampleSite } from "./sample.mjs";

const INDEX = { tabs: 20_000, per_file: 1_000, areas: [["red", 15_000], ["blue", 5_000]] };
const SIZE = { width: 1_000, height: 800 };

test("an order's index is read, and a damaged one is not", () => {
  const order = readOrder(INDEX);
  assert.deepEqual(order.areas, [
    { name: "red", first: 0, tabs: 15_000 }, { name: "blue", first: 15_000, tabs: 5_000 },
  ]);
  for (const damage of [
    { tabs: 20_001 }, { tabs: 0 }, { per_file: 0 }, { per_file: "1" }, { areas: {} },
    { areas: [["red", 20_000.5]] }, { areas: [null] }, { areas: [["red", 20_000], ["blue", 0]] },
    { areas: Array.from({ length: 5_001 }, () => ["red", 1]), tabs: 5_001 },
  ]) {
    assert.equal(readOrder({ ...INDEX, ...damage }), null, JSON.stringify(damage).slice(0, 60));
  }
  for (const value of [null, undefined, 7, []]) assert.equal(readOrder(value), null);
});

test("an area with an invalid name has none, and the order is complete", () => {
  const names = ["red", "<b>", 7, null, "a".repeat(31), "blue"];
  const areas = names.map((name) => [name, 10]);
  const order = readOrder({ tabs: 60, per_file: 1_000, areas });
  assert.deepEqual(order?.areas.map(({ name, first }) => [areaLabel("colour", name), first]), [
    ["Red", 0], ["No icon", 10], ["No icon", 20], ["No icon", 30], ["No icon", 40], ["Blue", 50],
  ]);
});

test("a place leads to a bundle and a slot, as the bundler writes them", () => {
  const map = { side: 10, grid: 3 };
  // The bundler's test has the same bytes: the tabs 3, 130 and 2.
  const bytes = new Uint8Array([3, 127, 0x84, 6]);
  const tabs = [0, 1, 2, 3].map((index) => tabInPlaces(bytes, index, map, 100));
  assert.deepEqual(tabs, [
    { bundle: 0, slot: 3 }, { bundle: 14, slot: 4 }, { bundle: 0, slot: 2 }, null,
  ]);
  assert.equal(tabInPlaces(bytes, 1, map, 14), null, "a bundle that does not exist");
  assert.equal(tabInPlaces(new Uint8Array([0xff, 0xff]), 0, map, 100), null);
  const order = readOrder(INDEX);
  assert.deepEqual(placesFile("colour", order, 1_234),
    { path: "map/colour/places/1.bin", index: 234 });
  assert.deepEqual([0, 14_999, 15_000].map((place) => areaAt(order, place).name),
    ["red", "red", "blue"]);
  assert.equal(areaAt(order, 20_000), undefined);

  const sample = withOrders(withMap(sampleSite({ bundles: 40 })), { perFile: 700 });
  const places = sample.places("colour");
  for (const place of [0, 699, 700, 3_456, places.length - 1]) {
    const { path, index } = placesFile("colour", { perFile: 700 }, place);
    const { bundle, slot } = places[place];
    assert.deepEqual(tabInPlaces(sample.orderFile(path), index, sample.manifest.map, 40),
      { bundle, slot });
  }
});

test("an order is a map whose bundles have one cell, with its tiles from level 2 on", () => {
  const map = mapFormat(250_000, 136, "jpg");
  const order = mapOfOrder(map, "colour", { overrides: new Map([["2/0-0", "map/x.jpg"]]) });
  const world = worldOf(order, 30_000_000);
  assert.deepEqual([world.width, world.height, world.levels], [6_000, 5_000, 8]);
  assert.deepEqual(tabAt(world, { x: 5.5, y: 2.5 }), { bundle: 12_005, slot: 0 });
  const whole = wholeView(world, SIZE);
  assert.equal(tabsInView(world, whole, SIZE, 30_000_000), 30_000_000);
  assert.deepEqual(planOf(world, whole, SIZE, 1).bundles, []);
  const near = { x: 100, y: 100, scale: 24 };
  assert.equal(levelFor(world, near, SIZE, 2), 2);
  assert.deepEqual(planOf(world, near, SIZE, 2).bundles, [], "icons are not drawn from bundles");
  assert.deepEqual(tilesInView(world, near, SIZE, 2), [{ z: 2, x: 0, y: 0 }]);
  assert.equal(tilesInView(world, whole, SIZE, 2).length, 21 * 18);
  assert.equal(tilesAt(world, near).at(-1).z, 2);
  assert.equal(tilePath(order, "scans/1/", { z: 3, x: 1, y: 2 }), "scans/1/map/colour/3/1-2.jpg");
  assert.equal(tilePath(order, "scans/1/", { z: 2, x: 0, y: 0 }), "scans/1/map/x.jpg");
  assert.equal(worldOf(mapOfOrder(mapFormat(5, 9), "rank", order), 40).levels, 3);
});

test("areas that are high enough in view have a label in it", () => {
  const order = readOrder(INDEX);
  const world = worldOf(mapOfOrder({ side: 20, grid: 10, levels: 3 }, "colour", order), 20_000);
  const whole = wholeView(world, SIZE);
  const labels = labelsFor(order, world.width, whole, SIZE);
  assert.deepEqual(labels.map(({ area }) => area.name), ["red", "blue"]);
  // 200 cells are 960 pixels wide, and 75 of 100 rows are red.
  assert.ok(Math.abs(labels[0].right - 972) < 1e-6 && Math.abs(labels[0].y - 340) < 1e-6);
  const near = labelsFor(order, world.width, { x: 100, y: 76, scale: 24 }, SIZE);
  assert.deepEqual(near.map(({ area }) => area.name), ["red", "blue"]);
  assert.deepEqual(near.map(({ right }) => right), [992, 992]);
  assert.ok(near.every(({ y }) => y > 0 && y < SIZE.height));
  const far = labelsFor(order, world.width, { x: 100, y: 50, scale: 0.7 }, SIZE);
  assert.deepEqual(far.map(({ area }) => area.name), ["red"], "blue is 17.5 pixels high");
});

test("the address keeps an order and its view, and the manifest names the orders", () => {
  const view = { x: 12.5, y: 30, scale: 4 };
  assert.equal(writeMapAddress({ order: "domain", site: "a.example", view }),
    "#order=domain&at=12.5,30,4");
  assert.equal(writeMapAddress({ order: "rank", view: null }), "#order=rank");
  assert.deepEqual(readMapAddress("#order=domain&at=12.5,30,4"), { order: "domain", view });
  assert.deepEqual(readMapAddress("#order=rank"), { order: "rank" });
  for (const hash of ["#order=A/b", "#order=", "#at=12.5,30,4", "#order=../x&at=1,2,3"]) {
    assert.deepEqual(readMapAddress(hash), {}, hash);
  }
  const manifest = { map: { ...mapFormat(40, 120), orders: {
    colour: "map/colour/index-0123456789abcdef.json",
    rank: "../rank/index.json",
    "a b": "map/a/b.json",
  } } };
  assert.deepEqual([...readMap(manifest, { bundles: 40 }).orders],
    [["colour", "map/colour/index-0123456789abcdef.json"]]);
  assert.equal(readMap({ map: mapFormat(40, 120) }, { bundles: 40 }).orders.size, 0);
});

test("areas have names", () => {
  const labels = [
    ["colour", "mint", "Mint"], ["colour", "none", "No icon"], ["colour", "new", "new"],
    ["domain", "com", ".com"], ["domain", "de", ".de (Germany)"],
    ["domain", "uk", ".uk (United Kingdom)"], ["domain", "xn--p1ai", ".рф"],
    ["domain", "zz9", ".zz9"], ["rank", "101", "Ranks 101 to 1,000"], ["rank", "none", "No rank"],
  ];
  for (const [order, name, label] of labels) assert.equal(areaLabel(order, name), label);
  const words = inOrderWords("domain", 500, 20_000, { name: "fr", tabs: 1 });
  assert.equal(words, "500 of 20,000 tabs in view. At the centre: .fr (France), 1 tab.");
  assert.equal(inOrderWords("rank", 9, 9, undefined), "All 9 tabs in view.");
});
