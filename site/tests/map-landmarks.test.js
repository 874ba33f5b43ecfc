// The landmarks' file and positions, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { alphaAt, boxOf, readLandmarks, scalesOf } from "../js/map-landmarks.js";
import { generator } from "../js/stream.js";
import { iconPng } from "./sample.mjs";

const ICON = iconPng(16, generator(3)).toString("base64");
const WORLD = { width: 5_500, height: 5_400 };

function landmarks(number, isWide, seed = 7) {
  const random = generator(seed);
  return Array.from({ length: number }, (_, at) => {
    const [x, y] = [random() * WORLD.width, random() * WORLD.height];
    return { x, y, box: boxOf(40 + random() * 200, at, x / WORLD.width, isWide) };
  });
}

const shown = ({ x, y, box }, scale) => ({
  left: x * scale + box.left, right: x * scale + box.right,
  top: y * scale + box.top, bottom: y * scale + box.bottom,
});

test("a file's lines are landmarks in their order, and nothing else is one", () => {
  const line = (host, bundle = 3, slot = 5, icon = ICON) =>
    `${host}\t${bundle}\t${slot}\t9\t${icon}\n`;
  const text = line("www.a.example") + line("xn--bcher-kva.example", 0, 0) +
    line("xn--80ak6aa92e.com") + line("b.example", 10) + line("b.example", -1) +
    line("b.example", 1.5) + line("b.example", 1, 121) + line("b.example", "x") +
    line("b.example", 1, 1, "R0lGODlhAQABAAAAACw=") + line("b.example", 1, 1, "") +
    line("b.example", 1, 1, `${ICON.slice(0, 40)}"><script>`) + line("<b>.example") +
    line("user@b.example") + line("") + line("a b.example") + "b.example\t1\n\n\t\t\t\t\n";
  const found = readLandmarks(text, 10, 121);
  assert.deepEqual(found.map(({ host, title }) => [host, title]), [
    ["www.a.example", "a.example"],
    ["xn--bcher-kva.example", "bücher.example"],
    ["xn--80ak6aa92e.com", "xn--80ak6aa92e.com"],
  ]);
  assert.deepEqual([found[0].bundle, found[0].slot], [3, 5]);
  assert.equal(found[0].icon, `data:image/png;base64,${ICON}`);
  assert.deepEqual(readLandmarks("", 10, 121), []);
  assert.equal(readLandmarks(line("a.example").repeat(300), 10, 121).length, 256);
});

test("at every scale no two landmarks touch, and only a better one hides another", () => {
  for (const isWide of [true, false]) {
    const all = landmarks(256, isWide);
    const scales = scalesOf(all, WORLD);
    for (let scale = 0.05; scale < 18; scale *= 1.17) {
      const drawn = all.filter((_, i) => scales[i] <= scale);
      const boxes = drawn.map((one) => shown(one, scale));
      boxes.forEach((a, i) => {
        assert.ok(a.left >= 0 && a.right <= WORLD.width * scale, "cut at the side");
        assert.ok(a.top >= 0 && a.bottom <= WORLD.height * scale, "cut above or below");
        for (const b of boxes.slice(0, i)) {
          const isApart = a.left >= b.right + 11.9 || b.left >= a.right + 11.9 ||
            a.top >= b.bottom + 9.9 || b.top >= a.bottom + 9.9;
          assert.ok(isApart, JSON.stringify([scale, a, b]));
        }
      });
      if (scale > 0.2) assert.ok(scales[0] > scale || drawn[0] === all[0], "the best is there");
    }
    assert.deepEqual(scalesOf(landmarks(256, isWide), WORLD), scales, "it is always the same");
  }
});

test("nearer views show more, a landmark that is shown stays, narrow ones are smaller", () => {
  const all = landmarks(256, true);
  const scales = scalesOf(all, WORLD);
  const counts = [0.14, 0.3, 0.6, 1.2, 4]
    .map((scale) => scales.filter((from) => from <= scale).length);
  assert.deepEqual(counts, counts.toSorted((a, b) => a - b));
  assert.ok(counts[0] >= 8 && counts[0] <= 30, `${counts}`);
  assert.ok(counts[4] > 200, `${counts}`);
  const [wide, narrow] = [boxOf(80, 0, 0.5, true), boxOf(80, 0, 0.5, false)];
  assert.ok(narrow.bottom - narrow.top < wide.bottom - wide.top);
  assert.ok(boxOf(80, 200, 0.5, true).plate < wide.plate, "the best are larger");
  assert.equal(boxOf(1_000, 0, 0.5, true).right, boxOf(5_000, 0, 0.5, true).right);
});

test("a name at the edge extends to the middle, around its icon", () => {
  const [left, middle, right] = [0.05, 0.5, 0.95].map((part) => boxOf(90, 0, part, true));
  assert.equal(left.left, -left.plate / 2);
  assert.equal(right.right, right.plate / 2);
  assert.equal(middle.left, -middle.right);
  for (const { left: from, right: to, plate } of [left, middle, right]) {
    assert.ok(from <= -plate / 2 && to >= plate / 2);
    assert.equal(to - from, 104);
  }
  const [two] = [scalesOf([{ x: 9, y: 9, box: left }, { x: 9, y: 9, box: left }], WORLD)];
  assert.equal(two[1], Infinity, "of two at one place the better one is shown");
});

test("they fade when cells are large enough", () => {
  assert.deepEqual([0.01, 16, 17, 18, 72].map(alphaAt), [1, 1, 0.5, 0, 0]);
});
