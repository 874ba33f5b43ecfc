// This module sorts search results. The order must be the same as in bundler/src/search/answers.rs,
// which writes the files with the best names.

import { compareKeys, withoutWww } from "./search-keys.js";

const MAX_LEADING = 2;

/**
 * Returns the best `most` of `entries` (from `linesFrom`), whose keys start with `start`. Names
 * that are the typed text, as a whole or with a suffix, are first (at most two). All others are
 * sorted by rank; names without a rank by length, then alphabetically. If names differ only by
 * "www.", one of them is returned.
 */
export function bestAnswers(entries, start, most) {
  const byKey = new Map();
  for (const entry of entries) {
    const other = byKey.get(entry.key);
    if (!other || withoutWww(other.host) !== other.host) byKey.set(entry.key, entry);
  }
  const sorted = [...byKey.values()]
    .map((entry) => ({ entry, length: [...entry.key].length }))
    .sort((a, b) => compareRanks(a.entry, b.entry) || a.length - b.length ||
      compareKeys(a.entry.key, b.entry.key))
    .map(({ entry }) => entry);
  const isWhole = ({ key }) => key === start;
  const leading = [
    ...sorted.filter(isWhole),
    ...sorted.filter(({ key }) => key.startsWith(`${start}.`)),
  ].slice(0, MAX_LEADING);
  return [...leading, ...sorted.filter((entry) => !leading.includes(entry))].slice(0, most);
}

/** Compares entries by rank. Entries without a rank are equal. */
export function compareRanks(a, b) {
  return a.rank === b.rank ? 0 : a.rank - b.rank;
}

/**
 * Returns the name of the file with the best results for `start`, or null if `start` is too long to
 * have one. bundler/src/search/answers.rs computes the same name.
 */
export function bestFileName(start) {
  const bytes = new TextEncoder().encode(start);
  const name = [...bytes].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[a-z0-9-]/.test(character) ? character : `_${byte.toString(16).padStart(2, "0")}`;
  }).join("");
  return name.length <= 120 ? `best/${name}.tsv` : null;
}

/** Returns the form in which words are compared: lower case and NFKC. */
export function foldedText(text) {
  return text.normalize("NFKC").toLowerCase().normalize("NFKC");
}

/** Splits typed text in the same way as bundler/src/search/words.rs splits titles. */
export function typedWords(typed) {
  return foldedText(typed.slice(0, 260)).split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);
}

/**
 * Returns true if two texts differ by at most one typing error: a missing, additional or wrong
 * character, or two adjacent ones that are exchanged.
 */
export function isOneErrorAway(a, b) {
  const [x, y] = [[...a], [...b]];
  if (Math.abs(x.length - y.length) > 1) return false;
  let start = 0;
  while (start < x.length && x[start] === y[start]) start += 1;
  const rest = (text, from) => text.slice(from).join("");
  const isExchanged = x[start] === y[start + 1] && x[start + 1] === y[start] &&
    rest(x, start + 2) === rest(y, start + 2);
  return isExchanged || rest(x, start + 1) === rest(y, start + 1) ||
    rest(x, start) === rest(y, start + 1) || rest(x, start + 1) === rest(y, start);
}
