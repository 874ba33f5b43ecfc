import assert from "node:assert/strict";
import test from "node:test";
import { readAddress, seedOfNumber, writeAddress } from "../js/address.js";

const NONE = { seed: null, tab: 0, site: "", open: false, skin: "" };

test("each part of an address is understood alone, and what is invalid is left out", () => {
  const read = {
    "": {},
    "#": {},
    "#x": {},
    "#seed=5": { seed: 5 },
    "#seed=1767225600000": { seed: seedOfNumber(1767225600000) },
    "#tab=1200": { tab: 1200 },
    "#site=www.xn--e1afmkfd.example": { site: "www.xn--e1afmkfd.example" },
    "#site=B%C3%BCcher.Example": { site: "xn--bcher-kva.example" },
    "#site=a.example&open": { site: "a.example", open: true },
    "#skin=firefox": { skin: "firefox" },
    "#seed=5&bundle=7&site=a.example": { seed: 5, site: "a.example" },
    "#open": {},
    "#seed=": {}, "#seed=-1": {}, "#seed=1e9": {}, "#seed=12345678901234567": {},
    "#tab=-4": {}, "#tab=1234567890": {}, "#skin=netscape": {},
  };
  for (const [hash, expected] of Object.entries(read)) {
    assert.deepEqual(readAddress(hash), { ...NONE, ...expected }, hash);
  }
  const bad = ["<b>", "a/b", "user@a.example", "a.example:80", "a b", "%00", "a".repeat(254), "%"];
  for (const site of bad) assert.deepEqual(readAddress(`#site=${site}&open`), NONE, site);
});

test("an address is read as it was written", () => {
  const all = [
    { seed: 7, tab: 0, site: "", open: false, skin: "" },
    { seed: 7, tab: 960, site: "", open: false, skin: "edge" },
    { seed: 4294967295, tab: 0, site: "a.example", open: false, skin: "" },
    { seed: 0, tab: 0, site: "xn--bcher-kva.example", open: true, skin: "safari" },
  ];
  for (const address of all) assert.deepEqual(readAddress(writeAddress(address)), address);
  assert.equal(writeAddress(all[0]), "#seed=7");
  assert.equal(writeAddress(all[2]), "#seed=4294967295&site=a.example");
});

test("a seed has 32 bits, and a folded one stays", () => {
  assert.notEqual(seedOfNumber(4294967296), seedOfNumber(8589934592));
  assert.equal(seedOfNumber(seedOfNumber(1767225600000)), seedOfNumber(1767225600000));
});
