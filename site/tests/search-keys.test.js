import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import {
  compareKeys, filesFor, linesFrom, rangeOf, searchKey, typedKey,
} from "../js/search-keys.js";
import { generator } from "../js/stream.js";
import { sampleSite } from "./sample.mjs";

const VECTORS = JSON.parse(readFileSync(new URL("search-keys.json", import.meta.url), "utf8"));

test("keys, ranges and their order are those by which the search files are written", () => {
  for (const [host, key, range] of VECTORS) {
    assert.equal(searchKey(host), key, host);
    assert.equal(rangeOf(key), range, host);
  }
  const keys = VECTORS.map(([, key]) => key);
  assert.deepEqual(keys.toSorted(compareKeys), keys);
  assert.notDeepEqual(keys.toSorted(), keys, "a pair that UTF-16 would order otherwise is among");
});

test("what is typed or pasted is found however it is written", () => {
  for (const [typed, key] of [
    ["Example", "example"],
    ["  https://www.Example.com/path?x#y ", "example.com"],
    ["www.", ""],
    ["xn--bcher-kva.de", "bücher.de"],
    ["BÜCHER.de", "bücher.de"],
    ["bu\u0308ch", "büch"],
    ["кири", "кири"],
    ["日本", "日本"],
    ["a b", "a"],
    ["", ""],
    ["/", ""],
    ["ex-", "ex-"],
    ...["github.com:443", "github.com.", "user@github.com", "user:pw@GitHub.com", "\"github.com\"",
      "“github.com”", "(https://github.com/)", "http:/github.com", "https//github.com",
      "https:github.com", "://github.com", "//github.com", "github,com", "github.com,",
      "See github.com", "mailto:me@github.com", "https:\\\\github.com\\a", ".github.com",
    ].map((typed) => [typed, "github.com"]),
    ["github.", "github."],
    ["bbc.co.", "bbc.co"],
    ["garden tools", "garden"],
    ["https:", ""],
    ["日本。jp", "日本.jp"],
  ]) {
    assert.equal(typedKey(typed), key, typed);
  }
  assert.ok(typedKey("ü".repeat(10_000)).length <= 300);
});

test("for random prefixes the files give what a plain scan of all names gives", () => {
  const sample = sampleSite({ bundles: 60 });
  const lines = [];
  for (let range = 0; range < 28; range += 1) {
    const firsts = sample.search(`${range}/index.tsv`).split("\n").filter((key) => key !== "");
    firsts.forEach((_, file) => {
      lines.push(...sample.search(`${range}/${file}.tsv`).trim().split("\n"));
    });
  }
  assert.equal(lines.length, 7_200);
  const random = generator(5);
  const keys = lines.map((line) => searchKey(line.split("\t")[0]));
  for (let round = 0; round < 2_000; round += 1) {
    const key = keys[Math.floor(random() * keys.length)];
    const start = key.slice(0, 1 + Math.floor(random() * key.length)) + (round % 9 ? "" : "~");
    const plain = lines.filter((_, i) => keys[i].startsWith(start)).slice(0, 8);
    const range = rangeOf(start);
    const firsts = sample.search(`${range}/index.tsv`).split("\n").filter((one) => one !== "");
    const { first, end } = filesFor(firsts, start);
    const found = [];
    for (let file = first; file < end && found.length < 8; file += 1) {
      found.push(...linesFrom(sample.search(`${range}/${file}.tsv`), start, 8 - found.length));
    }
    assert.deepEqual(found.map((e) => `${e.host}\t${e.bundle}\t${e.slot}`), plain, start);
  }
});
