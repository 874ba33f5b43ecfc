import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { bestAnswers, bestFileName, typedWords } from "../js/search-answers.js";
import { linesFrom } from "../js/search-keys.js";

const names = (lines, start, most = 8) =>
  bestAnswers(linesFrom(lines.join("\n"), start), start, most).map(({ host }) => host);

test("what was typed with a suffix comes first, then rank, then short names", () => {
  const lines = [
    "google-1.xyz\t0\t0", "google-adsense-tips.blogspot.com\t0\t1", "google.ac\t0\t2",
    "google.com\t0\t3\t2", "google.de\t0\t4\t40", "googleapis.com\t0\t5\t9", "googol.com\t0\t6",
    "google-analytics.com\t0\t7\t30",
  ];
  assert.deepEqual(names(lines, "google"), [
    "google.com", "google.de", "googleapis.com", "google-analytics.com", "google.ac",
    "google-1.xyz", "google-adsense-tips.blogspot.com",
  ]);
  assert.deepEqual(names(lines, "google.a"), ["google.ac"]);
  assert.deepEqual(names(lines, "google", 2), ["google.com", "google.de"]);
});

test("at most two names take the first places by their suffix, a whole name the very first", () => {
  const lines = [
    "blog.a.com\t0\t0", "blog.b.com\t0\t1", "blog.c.com\t0\t2", "blogger.com\t0\t3\t3",
  ];
  assert.deepEqual(names(lines, "blog", 3), ["blog.a.com", "blog.b.com", "blogger.com"]);
  const whole = ["ibm.co\t0\t0\t900", "ibm.com\t0\t1\t5", "ibm.com.br\t0\t2\t1"];
  assert.deepEqual(names(whole, "ibm.co"), ["ibm.co", "ibm.com.br", "ibm.com"]);
});

test("names that differ by www. are one answer", () => {
  const lines = ["a.com\t0\t0", "www.a.com\t0\t1", "www.abc.com\t0\t2"];
  assert.deepEqual(names(lines, "a"), ["a.com", "www.abc.com"]);
});

test("the file of the best answers is named by what was typed", () => {
  assert.equal(bestFileName("go-1"), "best/go-1.tsv");
  assert.equal(bestFileName("a.ü_"), "best/a_2e_c3_bc_5f.tsv");
  assert.equal(bestFileName("日".repeat(14)), null);
});

test("what was typed is split into words as titles are", () => {
  const file = new URL("search-words.json", import.meta.url);
  for (const [text, words] of JSON.parse(readFileSync(file))) {
    assert.deepEqual(typedWords(text), words, text);
  }
});
