import assert from "node:assert/strict";
import test from "node:test";
import { bitsOfRow } from "../js/layout.js";
import { generator, shuffledOrder } from "../js/stream.js";

function drawAll(seed, length) {
  const order = shuffledOrder(seed, length);
  const drawn = [];
  for (let number = order.next(); number !== null; number = order.next()) drawn.push(number);
  return drawn;
}

test("every bundle is drawn exactly once", () => {
  for (const length of [0, 1, 2, 3, 100, 10_000]) {
    const drawn = drawAll(42, length);
    assert.equal(drawn.length, length);
    assert.deepEqual(drawn.toSorted((a, b) => a - b), [...Array(length).keys()]);
  }
});

test("the same seed gives the same order and another seed another", () => {
  assert.deepEqual(drawAll(7, 500), drawAll(7, 500));
  assert.notDeepEqual(drawAll(7, 500), drawAll(8, 500));
});

test("an order that was shared stays what it is", () => {
  assert.deepEqual(drawAll(1, 12), [7, 1, 0, 11, 3, 6, 9, 10, 5, 4, 2, 8]);
});

test("drawing on demand gives what shuffling the whole list gives", () => {
  for (const length of [1, 2, 17, 1_000]) {
    const random = generator(length);
    const list = [...Array(length).keys()];
    for (let at = 0; at < length; at += 1) {
      const pick = at + Math.floor(random() * (length - at));
      [list[at], list[pick]] = [list[pick], list[at]];
    }
    assert.deepEqual(drawAll(length, length), list);
  }
});

test("every position is about equally often any number", () => {
  const length = 5;
  const seen = Array.from({ length }, () => new Array(length).fill(0));
  for (let seed = 0; seed < 5_000; seed += 1) {
    drawAll(seed, length).forEach((number, at) => {
      seen[at][number] += 1;
    });
  }
  for (const times of seen.flat()) assert.ok(times > 850 && times < 1_150, `${seen}`);
});

test("a hundred million bundles can be drawn from without holding them", () => {
  const order = shuffledOrder(3, 100_000_000);
  const drawn = new Set();
  for (let i = 0; i < 1_000; i += 1) drawn.add(order.next());
  assert.equal(drawn.size, 1_000);
  assert.equal(order.remaining, 99_999_000);
});

test("the generator is mulberry32 as published and fills [0, 1)", () => {
  assert.equal(generator(0)(), 0.26642920868471265);
  const random = generator(9);
  const values = Array.from({ length: 10_000 }, random);
  assert.ok(values.every((value) => value >= 0 && value < 1));
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  assert.ok(Math.abs(mean - 0.5) < 0.02);
});

test("a bundle that was asked for comes first, and once", () => {
  for (const first of [0, 17, 99]) {
    const order = shuffledOrder(42, 100, first);
    assert.equal(order.remaining, 100);
    const drawn = [];
    for (let number = order.next(); number !== null; number = order.next()) drawn.push(number);
    assert.equal(drawn[0], first);
    assert.deepEqual(drawn.toSorted((a, b) => a - b), [...Array(100).keys()]);
    assert.equal(order.remaining, 0);
  }
  assert.equal(shuffledOrder(42, 3, 3).remaining, 3);
});

test("the bits of rows are 32 and differ", () => {
  const all = Array.from({ length: 1_000 }, (_, row) => bitsOfRow(row));
  assert.equal(new Set(all).size, 1_000);
  for (const bits of all) assert.ok(Number.isInteger(bits) && bits >= 0 && bits < 2 ** 32);
  const ones = all.reduce((sum, bits) => sum + (bits & 1), 0);
  assert.ok(ones > 400 && ones < 600, "rows go to both sides");
});
