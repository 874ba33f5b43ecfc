// How text is fitted into a picture. Here every character is ten pixels wide.

import assert from "node:assert/strict";
import test from "node:test";
import {
  charactersOf, directionOf, hostLinesOf, linesOf, shortenedHost, sizeThatFits,
} from "../js/picture-text.js";

const measure = (text) => 10 * charactersOf(text).length;
const lines = (text, characters, maxLines) => linesOf(text, 10 * characters, maxLines, measure);

test("lines break between words, and a longer text ends with an ellipsis", () => {
  assert.deepEqual(lines("one two three", 20, 2), ["one two three"]);
  assert.deepEqual(lines("one two three", 8, 2), ["one two", "three"]);
  assert.deepEqual(lines("one two three", 7, 2), ["one two", "three"]);
  assert.deepEqual(lines("one two three four five", 8, 2), ["one two", "three…"]);
  assert.deepEqual(lines("long-label.example", 11, 2), ["long-", "label.exam…"]);
  assert.deepEqual(lines("", 8, 2), [""]);
});

test("a word that is too long is broken anywhere but inside a character", () => {
  assert.deepEqual(lines("W".repeat(20), 8, 2), ["W".repeat(8), `${"W".repeat(7)}…`]);
  assert.deepEqual(lines("図書館ようこそ", 4, 2), ["図書館よ", "うこそ"]);
  const family = "👩‍👩‍👧‍👦";
  assert.deepEqual(lines(family.repeat(5), 2, 2), [family.repeat(2), `${family}…`]);
  assert.deepEqual(lines("e\u0301".repeat(3), 2, 2), ["e\u0301e\u0301", "e\u0301"]);
});

test("no line is wider than its box, whatever the text", () => {
  const marked = "Z\u0351\u034b ".repeat(40);
  for (const text of ["a b c d e f g h", "W".repeat(300), "x ".repeat(90), marked]) {
    for (const room of [1, 2, 5, 30]) {
      const made = lines(text, room, 3);
      assert.ok(made.length <= 3);
      for (const line of made) assert.ok(measure(line) <= 10 * room, `${line} in ${room}`);
    }
  }
});

test("a hostname that is too long keeps its end, which has the registered domain", () => {
  const host = `${"secure-login.".repeat(9)}bank.example.attacker.test`;
  for (const [room, most] of [[24, 1], [20, 2], [30, 3]]) {
    const made = hostLinesOf(host, 10 * room, most, measure);
    assert.ok(made[0].startsWith("…") && made.join("").endsWith("attacker.test"), made);
    assert.ok(made.length <= most && made.every((line) => measure(line) <= 10 * room), made);
    assert.ok(made.join("").length > (most - 1) * room, `as much as fits: ${made}`);
  }
  assert.deepEqual(hostLinesOf("short.example", 130, 1, measure), ["short.example"]);
  assert.equal(shortenedHost("a.b.example", (text) => text.length <= 8), "…example");
  assert.equal(shortenedHost("abc", () => false), "…");
});

test("the direction is that of the first letter", () => {
  for (const text of ["مكتبة", "12: ספרייה abc", "«مكتبة»"]) assert.equal(directionOf(text), "rtl");
  for (const text of ["abc مكتبة", "", "42", "👩 Küche", "図書館"]) {
    assert.equal(directionOf(text), "ltr");
  }
});

test("the largest size that fits is taken", () => {
  const wide = (text, size) => text.length * size;
  assert.equal(sizeThatFits("abcd", [56, 40, 30], 200, wide), 40);
  assert.equal(sizeThatFits("abcd", [56, 40, 30], 100, wide), null);
});
