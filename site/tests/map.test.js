// The map's geometry, loading and motion on generated worlds, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import {
  hostnameFrom, readMap, readMapAddress, tilePath, writeMapAddress,
} from "../js/map-address.js";
import * as geometry from "../js/map-geometry.js";
import { MapLoader } from "../js/map-loader.js";
import { MapMotion } from "../js/map-motion.js";
import { tabsBySlot } from "../js/map-pictures.js";
import { keysFor, keysForFlight, planOf, readKey } from "../js/map-plan.js";
import { bundleWords, manifestWords, seenWords, troubleWords } from "../js/map-words.js";
import { generator } from "../js/stream.js";
import { withMap } from "./sample-map.mjs";
import { mapFormat, sampleSite } from "./sample.mjs";

const ROUNDS = 2_000;
const near = (a, b, by) => assert.ok(Math.abs(a - b) <= by, `${a} is not near ${b}`);

/** 67 MB, at most a hundred tiles. */
const mostTiles = ({ grid }) => Math.min(100, 60 * 528 ** 2 / (48 * grid) ** 2);

function each(check) {
  const random = generator(77);
  for (let round = 0; round < ROUNDS; round += 1) {
    const bundles = 1 + Math.floor(10 ** (random() * 5.5));
    const tabs = 1 + Math.floor(random() * 300);
    const world = geometry.worldOf(mapFormat(bundles, tabs), bundles);
    const size = { width: 200 + random() * 2_400, height: 150 + random() * 1_300 };
    const fit = geometry.fitScale(world, size);
    const view = geometry.clampView(world, size, {
      x: (random() * 1.4 - 0.2) * world.width,
      y: (random() * 1.4 - 0.2) * world.height,
      scale: fit * (geometry.MAX_SCALE / fit) ** (random() * 1.2 - 0.1),
    });
    check({ world, size, view, fit, random });
  }
}

test("screen and world points lead to each other", () => {
  each(({ size, view, random }) => {
    const point = { x: random() * size.width, y: random() * size.height };
    const back = geometry.toScreen(view, size, geometry.toWorld(view, size, point));
    near(back.x, point.x, 0.01);
    near(back.y, point.y, 0.01);
  });
});

test("a view stays in its bounds, and the whole world is in the whole view", () => {
  each(({ world, size, view, fit }) => {
    assert.ok(view.scale >= fit && view.scale <= geometry.MAX_SCALE);
    assert.ok(view.x >= -1e-6 && view.x <= world.width + 1e-6);
    const whole = geometry.wholeView(world, size);
    const part = geometry.seenPart(world, whole, size);
    assert.deepEqual(part, { left: 0, top: 0, right: world.width, bottom: world.height });
    assert.deepEqual(geometry.clampView(world, size, whole), whole);
  });
});

test("zooming in keeps the world point under the pointer, wherever the view is", () => {
  each(({ world, size, view, random }) => {
    const part = geometry.seenPart(world, view, size);
    const place = {
      x: part.left + random() * (part.right - part.left),
      y: part.top + random() * (part.bottom - part.top),
    };
    const point = geometry.toScreen(view, size, place);
    const scale = Math.min(geometry.MAX_SCALE, view.scale * (1 + random() * 3));
    const zoomed = geometry.clampView(world, size, geometry.zoomedAt(view, size, point, scale));
    const after = geometry.toScreen(zoomed, size, place);
    near(after.x, point.x, 0.01);
    near(after.y, point.y, 0.01);
  });
});

test("each slot has one cell, and the cell leads back to it", () => {
  each(({ world, random }) => {
    const bundle = Math.floor(random() * world.bundles);
    const slot = Math.floor(random() * world.grid ** 2);
    const { x, y } = geometry.cellOf(world, bundle, slot);
    assert.deepEqual(geometry.tabAt(world, { x: x + 0.5, y: y + 0.5 }), { bundle, slot });
    assert.equal(geometry.tabAt(world, { x: -0.5, y }), null);
    assert.equal(geometry.tabAt(world, { x: world.width + 0.5, y }), null);
    assert.equal(geometry.tabAt(world, { x: 0.5, y: world.height + 0.5 }), null);
  });
});

test("tiles cover what is in view exactly: all of it, no tile out of view, none twice", () => {
  each(({ world, size, view, random }) => {
    const z = geometry.levelFor(world, view, size, 1 + Math.floor(random() * 2));
    const span = geometry.tileSpan(world, z);
    const tiles = geometry.tilesInView(world, view, size, z);
    const part = geometry.seenPart(world, view, size);
    assert.equal(new Set(tiles.map(({ x, y }) => `${x} ${y}`)).size, tiles.length);
    const area = tiles.reduce((sum, { x, y }) => {
      const width = Math.min(part.right, (x + 1) * span) - Math.max(part.left, x * span);
      const height = Math.min(part.bottom, (y + 1) * span) - Math.max(part.top, y * span);
      assert.ok(width > 0 && height > 0, "a tile is in view");
      assert.ok(x * span < world.width && y * span < world.height, "a tile exists");
      return sum + width * height;
    }, 0);
    const seen = (part.right - part.left) * (part.bottom - part.top);
    near(area / Math.max(seen, 1e-9), 1, 1e-6);
    const most = mostTiles(world);
    assert.ok(tiles.length <= most || z === world.levels - 1, `${tiles.length} tiles`);
  });
});

test("the level is the one whose pixels are nearest to the screen's", () => {
  each(({ world, size, view }) => {
    const z = geometry.levelFor(world, view, size, 1);
    const pixels = view.scale / (8 / 2 ** z);
    const few = geometry.tilesInView(world, view, size, Math.max(0, z - 1)).length <=
      mostTiles(world);
    assert.ok(z === 0 || !few || pixels <= 1.4143, "not blurred while there is a finer level");
    assert.ok(z === world.levels - 1 || !few || pixels >= 0.7071, "not finer than is seen");
  });
});

test("icons are drawn from the bundles in view, and only from a few", () => {
  each(({ world, size, view }) => {
    const plan = planOf(world, view, size, 1);
    assert.ok(plan.bundles.length <= Math.min(100, Math.max(4, 24 * 121 / world.grid ** 2)));
    if (plan.bundles.length === 0) return;
    assert.ok(view.scale >= 8);
    const part = geometry.seenPart(world, view, size);
    for (const x of [part.left + 1e-6, part.right - 1e-6]) {
      for (const y of [part.top + 1e-6, part.bottom - 1e-6]) {
        const tab = geometry.tabAt(world, { x, y });
        assert.ok(!tab || plan.bundles.includes(tab.bundle));
      }
    }
  });
});

test("all tabs are in view in the whole, and parts add up", () => {
  const world = geometry.worldOf(mapFormat(250_945, 120), 250_945);
  const size = { width: 1_440, height: 900 };
  const whole = geometry.wholeView(world, size);
  assert.equal(geometry.tabsInView(world, whole, size, 30_112_334), 30_112_334);
  each(({ world: one, size: its, view }) => {
    const seen = geometry.tabsInView(one, view, its, 1e9);
    assert.ok(seen >= 0 && seen <= 1e9);
  });
});

test("a flight begins and ends where it should, and its steps are small", () => {
  each(({ world, size, view, random }) => {
    const to = geometry.clampView(world, size, {
      x: random() * world.width, y: random() * world.height, scale: 72,
    });
    const path = geometry.flightPath(view, to, size);
    for (const [part, end] of [[0, view], [1, to]]) {
      const at = path.at(part);
      near(at.x, end.x, 1e-3 * world.width + 1e-6);
      near(at.y, end.y, 1e-3 * world.width + 1e-6);
      near(at.scale / end.scale, 1, 1e-6);
    }
    const almost = geometry.toScreen(path.at(0.9999), size, to);
    near(almost.x, size.width / 2, size.width / 50);
    assert.ok(Number.isFinite(path.length) && path.length >= 0);
  });
});

test("a flight wants the tiles on its way to the end, one a level, and little else", () => {
  const bundles = 250_000;
  const world = geometry.worldOf(mapFormat(bundles, 120), bundles);
  const size = { width: 1_120, height: 800 };
  const end = { x: 1_234.5, y: 4_321.5, scale: 72 };
  const keys = keysForFlight(world, end, world.levels - 2, size, 1, () => false);
  const tiles = keys.map(readKey).filter(({ tile }) => tile).map(({ tile }) => tile);
  for (let z = 0; z < world.levels; z += 1) {
    const span = geometry.tileSpan(world, z);
    const here = { z, x: Math.floor(end.x / span), y: Math.floor(end.y / span) };
    assert.deepEqual(tiles.filter((tile) => tile.z === z)[0], here);
  }
  assert.ok(keys.length < 24, `${keys.length}`);
  assert.equal(new Set(keys).size, keys.length);
});

test("a tile below bundles that are all in memory is not wanted", () => {
  const world = geometry.worldOf(mapFormat(400, 120), 400);
  const size = { width: 600, height: 500 };
  const plan = planOf(world, { x: 33, y: 33, scale: 72 }, size, 1);
  const all = keysFor(world, plan, () => false);
  assert.ok(all.includes("tile 0/0-0"));
  const held = keysFor(world, plan, (key) => key.startsWith("bundle"));
  assert.deepEqual(held.filter((key) => key.startsWith("tile")), ["tile 2/0-0"]);
});

function loaderByHand(maxBytes = 100) {
  const asked = [];
  const waiting = new Map();
  const told = [];
  const loader = new MapLoader({
    maxBytes,
    onChange: () => told.push([loader.busy, loader.trouble]),
    load: (key, signal) => {
      asked.push(key);
      return new Promise((resolve) => {
        waiting.set(key, resolve);
        signal.addEventListener("abort", () => resolve({ trouble: "network" }));
      });
    },
  });
  const answer = async (key, value) => {
    waiting.get(key)(value);
    await new Promise((done) => setTimeout(done));
  };
  return { loader, asked, answer, told };
}

test("at most six requests are under way, the first wanted first, others never", async () => {
  const { loader, asked, answer } = loaderByHand();
  const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
  loader.want(keys);
  assert.deepEqual(asked, keys.slice(0, 6));
  loader.want(["k0", "k9"]);
  assert.deepEqual(asked.slice(6), ["k9"]);
  await answer("k0", { value: 1, bytes: 10 });
  assert.deepEqual([loader.get("k0"), loader.get("k1")], [1, undefined]);
  await answer("k9", { value: 9, bytes: 10 });
  assert.equal(asked.length, 7, "what was aborted or not begun is not asked for");
  assert.equal(loader.trouble, "", "an aborted request is no trouble");
});

test("the end of the last request by an abort is told, and that of a trouble", async () => {
  const { loader, answer, told } = loaderByHand();
  loader.want(["a", "b"]);
  await answer("a", { value: 1, bytes: 10 });
  loader.want(["a"]);
  assert.deepEqual(told, [[true, ""], [true, ""], [false, ""]]);
  loader.want(["c"]);
  await answer("c", { trouble: "missing" });
  loader.want(["a"]);
  loader.want(["a"]);
  assert.deepEqual(told.slice(3), [[true, ""], [false, "missing"], [false, ""]]);
});

test("what is kept stays below the bound, and what is wanted is never dropped", async () => {
  const { loader, answer } = loaderByHand(25);
  const closed = [];
  for (const key of ["a", "b", "c"]) {
    loader.want([key]);
    await answer(key, { value: { close: () => closed.push(key) }, bytes: 10 });
  }
  assert.deepEqual([closed, loader.bytes], [["a"], 20]);
  loader.want(["b", "c", "d", "e"]);
  for (const key of ["d", "e"]) await answer(key, { value: {}, bytes: 10 });
  assert.equal(loader.bytes, 40, "all of it is in view");
  loader.want(["e"]);
  assert.ok(loader.bytes <= 25 && loader.get("e"));
});

test("what failed is told and not asked for again until told to", async () => {
  const { loader, asked, answer } = loaderByHand();
  loader.want(["a", "b"]);
  await answer("a", { trouble: "missing" });
  assert.deepEqual([loader.trouble, loader.troubleOf("a")], ["missing", "missing"]);
  await answer("b", { trouble: "network" });
  loader.want(["a", "b"]);
  assert.deepEqual([loader.trouble, asked.length], ["network", 2]);
  loader.retry();
  assert.deepEqual([loader.trouble, asked.length], ["", 4]);
});

function motionOf(isStill = false) {
  const world = geometry.worldOf(mapFormat(10_000, 120), 10_000);
  return new MapMotion(world, { width: 1_000, height: 700 }, () => isStill);
}

test("a smooth zoom keeps the point all the way and ends at its scale", () => {
  const motion = motionOf();
  motion.jumpTo({ x: 400, y: 300, scale: 4 });
  const point = { x: 777, y: 99 };
  const place = motion.worldAt(point);
  motion.zoomBy(2, point, 0);
  motion.zoomBy(2, point, 8);
  for (let now = 16; motion.step(now); now += 16) {
    near(motion.pointOf(place).x, point.x, 0.01);
    near(motion.pointOf(place).y, point.y, 0.01);
    assert.ok(now < 2_000);
  }
  near(motion.view.scale, 16, 1e-6);
});

test("a thrown map slows down and stands still; a press stops it", () => {
  const motion = motionOf();
  motion.jumpTo({ x: 400, y: 300, scale: 10 });
  motion.throw(-2, 0, 0);
  let last = motion.view.x;
  let steps = 0;
  for (let now = 16; motion.step(now); now += 16, steps += 1) {
    assert.ok(motion.view.x > last);
    last = motion.view.x;
  }
  assert.ok(steps > 20 && steps < 200);
  near(last, 400 + 2 * 280 / 10, 5);
  motion.throw(-2, 0, 5_000);
  motion.stop();
  assert.equal(motion.step(5_016), false);
});

test("without motion everything is a jump", () => {
  const motion = motionOf(true);
  motion.flyTo({ x: 100, y: 90, scale: 72 }, 0);
  assert.deepEqual(motion.view, { x: 100, y: 90, scale: 72 });
  motion.throw(3, 3, 0);
  motion.zoomBy(0.5, { x: 500, y: 350 }, 0);
  assert.deepEqual([motion.isMoving, motion.view.scale], [false, 36]);
});

test("a flight ends at its view, and whatever the visitor does ends it", () => {
  const motion = motionOf();
  const end = { x: 123.5, y: 456.5, scale: 72 };
  motion.flyTo(end, 0);
  assert.deepEqual([motion.isFlying, motion.end], [true, end]);
  let now = 0;
  while (motion.step(now)) now += 16;
  assert.deepEqual(motion.view, end);
  assert.ok(now > 350 && now < 3_300, `${now}`);
  motion.flyTo({ x: 900, y: 900, scale: 1 }, now);
  motion.panBy(5, 5);
  assert.equal(motion.isMoving, false);
});

test("a canvas of another size shows the same middle, and all if it showed all", () => {
  const motion = motionOf();
  motion.resize({ width: 390, height: 700 });
  assert.ok(motion.isWhole);
  motion.jumpTo({ x: 100, y: 200, scale: 20 });
  motion.resize({ width: 700, height: 390 });
  assert.deepEqual(motion.view, { x: 100, y: 200, scale: 20 });
});

test("an address leads back to the same view", () => {
  each(({ view }) => {
    const { view: back } = readMapAddress(writeMapAddress({ view }));
    near(back.scale / view.scale, 1, 1e-3);
    near(back.x * view.scale, view.x * view.scale, 0.6);
    near(back.y * view.scale, view.y * view.scale, 0.6);
  });
  assert.equal(writeMapAddress({ view: null }), "");
  assert.deepEqual(readMapAddress(writeMapAddress({ site: "a.example" })), { site: "a.example" });
});

test("a broken address shows the whole", () => {
  const broken = ["", "#", "#1,2", "#1,2,0", "#-1,2,3", "#1,2,x", "#1e9,2,3", "#site=", "#site=/"];
  for (const hash of broken) assert.deepEqual(readMapAddress(hash), {}, hash);
  assert.deepEqual(readMapAddress("#site=Bücher.example"), { site: "xn--bcher-kva.example" });
});

test("what was typed becomes a hostname", () => {
  for (const typed of ["example.com", " https://EXAMPLE.com/a?b ", "http://example.com:80"]) {
    assert.equal(hostnameFrom(typed), "example.com", typed);
  }
  for (const typed of ["", " ", "https://", "a".repeat(254)]) {
    assert.equal(hostnameFrom(typed), "", typed);
  }
});

test("the map of a manifest is checked, and overrides name other tiles", () => {
  const overrides = { "0/1-2": "takedowns/ab/0/1-2.png", "x": "y" };
  const map = { ...mapFormat(400, 120), overrides };
  const manifest = { bundles: 400 };
  const read = readMap({ map }, manifest);
  assert.deepEqual([read.side, read.grid, read.levels], [20, 11, 3]);
  assert.equal(tilePath(read, "scans/x/", { z: 0, x: 1, y: 2 }), "scans/x/takedowns/ab/0/1-2.png");
  assert.equal(tilePath(read, "scans/x/", { z: 1, x: 1, y: 2 }), "scans/x/map/1/1-2.png");
  for (const wrong of [
    { side: 21 }, { grid: 0 }, { grid: 1.5 }, { levels: 0 }, { tile: 512 }, { extension: "svg" },
    { background: "red" },
  ]) assert.equal(readMap({ map: { ...map, ...wrong } }, manifest), null, JSON.stringify(wrong));
  for (const value of [{}, null, { map: null }, { map: 1 }]) {
    assert.equal(readMap(value, manifest), null);
  }
  const outside = readMap({ map: { ...map, overrides: { "0/0-0": "../../x.png" } } }, manifest);
  assert.equal(outside.overrides.size, 0);
});

test("words say how much is in view, and what to do about trouble", () => {
  assert.equal(seenWords(1_240_123, 30_112_334), "1,240,000 of 30,112,334 tabs in view.");
  assert.equal(seenWords(30_112_334, 30_112_334), "All 30,112,334 tabs in view.");
  assert.equal(seenWords(0, 0), "The number of tabs in view is unknown.");
  assert.equal(bundleWords(0, 9, 120), "Block 1 of 9, at the centre: 120 tabs.");
  assert.match(bundleWords(0, 9, undefined, "network"), /not loaded/);
  assert.match(manifestWords("network", null, false), /offline/);
  assert.match(manifestWords("", { bundles: 0 }, true), /no tabs yet/);
  assert.deepEqual(troubleWords("", true), { words: "", action: "" });
  for (const trouble of ["network", "missing", "broken"]) {
    assert.notEqual(troubleWords(trouble, true).action, "", trouble);
  }
});

test("a tab keeps the slot it has in its bundle, whatever is wrong before it", () => {
  const good = (host) => ({ url: `https://${host}/`, title: host, icon: "" });
  const entries = [
    good("a.example"), { url: "javascript:1" }, good("b.example"), good("c.example"),
  ];
  const tabs = tabsBySlot({ entries }, 3);
  assert.deepEqual([...tabs].map(([slot, { host }]) => [slot, host]),
    [[0, "a.example"], [2, "b.example"]]);
  assert.equal(tabsBySlot({}, 4), null);
  assert.equal(tabsBySlot(null, 4), null);
});

test("tiles of the sample are PNGs, down to one that holds the whole world", () => {
  const sample = withMap(sampleSite({ bundles: 50 }));
  const { levels } = sample.manifest.map;
  assert.equal(levels, 2);
  assert.equal(sample.tile(levels - 1, 0, 0).readUInt32BE(16), 528);
  assert.equal(sample.tile(levels - 1, 1, 0), undefined);
  assert.ok(sample.tile(0, 1, 1));
});
