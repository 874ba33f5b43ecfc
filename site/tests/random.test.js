import assert from "node:assert/strict";
import test from "node:test";
import { generator, hash32, readHash, seedOfNumber, shuffledOrder } from "../js/random.js";

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

test("a seed is read from the address only where it is one", () => {
  assert.deepEqual(readHash("#seed=5"), { seed: 5 });
  assert.deepEqual(readHash("#seed=1767225600000"), { seed: seedOfNumber(1767225600000) });
  assert.deepEqual(readHash("#seed=5&bundle=7&site=www.xn--e1afmkfd.example"), {
    seed: 5, bundle: 7, site: "www.xn--e1afmkfd.example",
  });
  for (const bad of ["", "#", "#seed=", "#seed=-1", "#seed=1e9", "#seed=12345678901234567", "#x",
    "#seed=5&bundle=7", "#seed=5&bundle=x&site=a", "#seed=5&bundle=1&site=<b>"]) {
    assert.equal(readHash(bad), null, bad);
  }
  assert.notEqual(seedOfNumber(4294967296), seedOfNumber(8589934592));
});

test("the hash is 32 bits wide and tells names apart", () => {
  const hashes = new Set();
  for (let i = 0; i < 1_000; i += 1) hashes.add(hash32(`host-${i}.example`));
  assert.equal(hashes.size, 1_000);
  for (const hash of hashes) assert.ok(Number.isInteger(hash) && hash >= 0 && hash < 2 ** 32);
});
