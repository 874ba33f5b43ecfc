import assert from "node:assert/strict";
import test from "node:test";
import { ClosedTabs } from "../js/closed-tabs.js";

function storage(text = null) {
  const items = new Map(text === null ? [] : [["closed", text]]);
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
  };
}

test("each wall has its closed tabs, in order, also after a reload", () => {
  const kept = storage();
  const closed = new ClosedTabs(kept);
  closed.select("a");
  [3, 9, 4].forEach((index) => closed.add(index));
  closed.select("b");
  closed.add(7);
  assert.deepEqual([closed.ofWall, closed.count], [[7], 4]);
  closed.select("a");
  closed.remove(9);
  const again = new ClosedTabs(kept);
  again.select("a");
  assert.deepEqual([again.ofWall, again.count], [[3, 4], 3]);
});

// A former version stored an entry for each shuffled wall.
test("walls without closed tabs do not push out others", () => {
  const kept = storage();
  const closed = new ClosedTabs(kept);
  closed.select("first");
  [3, 9, 4].forEach((index) => closed.add(index));
  for (let wall = 0; wall < 40; wall += 1) {
    closed.select(`${wall}`);
    assert.equal(closed.count, 3);
    closed.add(1);
    closed.remove(1);
  }
  for (const visit of [closed, new ClosedTabs(kept)]) {
    visit.select("first");
    assert.deepEqual([visit.ofWall, visit.count], [[3, 9, 4], 3]);
  }
});

test("what is kept has a limit", () => {
  const closed = new ClosedTabs(storage());
  for (let wall = 0; wall < 40; wall += 1) {
    closed.select(`${wall}`);
    closed.add(1);
  }
  assert.equal(closed.count, 20);
  closed.select("large");
  const reopened = Array.from({ length: 10_002 }, (_, index) => closed.add(index));
  assert.deepEqual(reopened.filter((index) => index !== null), [0, 1]);
  assert.equal(closed.ofWall.length, 10_000);
});

test("storage that is full, forbidden or holds other text does no harm", () => {
  for (const text of ["{", "7", "{}", "[7]", "[[\"a\",7]]", "[[\"a\",[-1,\"x\",2.5,null,6]]]"]) {
    const closed = new ClosedTabs(storage(text));
    closed.select("a");
    assert.ok(closed.ofWall.every((index) => index === 6), text);
  }
  const full = { getItem: () => null, setItem: () => { throw new Error("full"); } };
  for (const none of [null, full]) {
    const closed = new ClosedTabs(none);
    closed.select("a");
    closed.add(1);
    assert.deepEqual(closed.ofWall, [1]);
  }
});
