// Owns the order of answers: which hostnames are shown first for what was typed.
// Invariant: the same order as bundler/src/search/answers.rs, which writes the files of best names.
// Must not know: the DOM, the network.

import { compareKeys, withoutWww } from "./search-keys.js";

/** Names that consist of what was typed and a suffix, which come before all others. */
const MAX_LEADING = 2;

/**
 * Returns the best `most` of `entries`, as `linesFrom` gives them, whose keys begin with `start`:
 * first what was typed as a whole name or with a suffix (at most two), then by rank; of names
 * without a rank the shorter first, then by the alphabet. Of names that differ by "www." one is
 * given.
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

/** Compares entries by rank; infinite ones are equal. */
export function compareRanks(a, b) {
  return a.rank === b.rank ? 0 : a.rank - b.rank;
}

/**
 * Returns the name of the file of the best answers to `start`, or null if `start` is too long to
 * have one. bundler/src/search/answers.rs computes the same.
 */
export function bestFileName(start) {
  const bytes = new TextEncoder().encode(start);
  const name = [...bytes].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[a-z0-9-]/.test(character) ? character : `_${byte.toString(16).padStart(2, "0")}`;
  }).join("");
  return name.length <= 120 ? `best/${name}.tsv` : null;
}

/**
 * Returns a text as words are compared: in lower case and compatibility form, which is also that of
 * international names.
 */
export function foldedText(text) {
  return text.normalize("NFKC").toLowerCase().normalize("NFKC");
}

/** Returns the words of what was typed; bundler/src/search/words.rs gives those of titles. */
export function typedWords(typed) {
  return foldedText(typed.slice(0, 260)).split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);
}
