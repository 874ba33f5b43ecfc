// Checks the counts of a visit, and how they are stored.

import assert from "node:assert/strict";
import test, { afterEach, beforeEach } from "node:test";
import { countFound, countOpened, countShared, visitCounts } from "../js/visit-counts.js";

let items;
beforeEach(() => {
  items = new Map();
  globalThis.sessionStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
  };
});
afterEach(() => delete globalThis.sessionStorage);

test("a website counts once in each list, and each sharing counts", () => {
  for (const host of ["a.example", "b.example", "a.example"]) countFound(host);
  countOpened("a.example");
  countShared();
  countShared();
  assert.deepEqual(visitCounts(),
    { found: ["a.example", "b.example"], opened: ["a.example"], shared: 2 });
});

test("what is stored has a limit", () => {
  for (let i = 0; i < 600; i += 1) countOpened(`${i}.example`);
  assert.equal(visitCounts().opened.length, 500);
});

test("what was stored by anything else is not taken over", () => {
  const garbage = ["", "x", "5", "null", "[]", '{"found":5,"opened":{},"shared":"7"}',
    '{"found":[1,null],"shared":-3}', '{"shared":1.5}'];
  for (const text of garbage) {
    items.set("visit", text);
    assert.deepEqual(visitCounts(), { found: [], opened: [], shared: 0 }, text);
  }
});

test("without storage nothing is counted, and nothing fails", () => {
  globalThis.sessionStorage = undefined;
  countFound("a.example");
  countShared();
  assert.deepEqual(visitCounts(), { found: [], opened: [], shared: 0 });
});
