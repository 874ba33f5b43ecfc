// This module fetches and caches the search files, and finds hostnames in them. A search fetches at
// most as many files as its caller allows.

import { fetchFile } from "./bundles.js";
import {
  bestAnswers, bestFileName, compareRanks, foldedText, isOneErrorAway, typedWords,
} from "./search-answers.js";
import { shownHost } from "./host-name.js";
import {
  filesFor, linesFrom, rangeOf, searchKey, typedKey, withoutWww,
} from "./search-keys.js";
import { COMMON, SEARCH } from "./strings.js";

/** The file that was fetched first is dropped first. */
const MAX_FILES_HELD = 60;
const MAX_NAMES_OF_KEY = 50;
const MAX_NAMES = 8;
/**
 * Up to this many names that contain the typed text, or whose titles do, are added to those that
 * start with it. More are added if there are fewer than MAX_NAMES in total.
 */
const MAX_OTHERS = 4;
/** Shorter texts differ from too many names by one typing error. */
const MIN_MISSPELT = 4;
const MAX_NEAR = 3;
/** Must be TOP_FILE in bundler/src/search/answers.rs. */
const TOP_FILE = "best/_top.tsv";
/** With fewer characters nearly every name contains the typed text. */
const MIN_INSIDE = 3;
/** If a prefix spans more files than this, its best results have a separate file. */
const MAX_FILES_READ = 2;
/** The word files truncate longer words and middle parts of names. */
const MAX_WORD = 24;

class FilesExhausted extends Error {}

/** A scan's search files. */
export class SearchFiles {
  #held = new Map();

  /**
   * Resolves to {entries, isWhole, isNear, trouble}, from cached files and at most `most` fetched
   * ones. `isWhole` is false if another call with the same arguments could find more. `isNear` is
   * true if the entries differ from the typed text by a typing error.
   */
  async answer(typed, manifest, most) {
    const fetches = { left: most };
    const start = typedKey(typed);
    let entries = [];
    try {
      entries = await this.#beginning(start, manifest, fetches);
      if (manifest.search?.words && start.length >= MIN_INSIDE) {
        const others = await this.#holding(typed, start, manifest, fetches);
        const keys = new Set(entries.map(({ key }) => key));
        const room = Math.max(MAX_OTHERS, MAX_NAMES - entries.length);
        entries = entries.concat(others.filter(({ key }) => !keys.has(key)).slice(0, room));
      }
      const isNear = entries.length === 0;
      if (isNear) entries = await this.#near(start, manifest, fetches);
      return { entries, isWhole: true, isNear, trouble: false };
    } catch (error) {
      if (error instanceof FilesExhausted) return { entries, isWhole: false, trouble: false };
      return { entries, isWhole: true, trouble: true };
    }
  }

  /**
   * Resolves to {host, bundle} for a hostname's tab, with or without "www."; to {} if there is no
   * tab; to null if the files cannot be fetched.
   */
  async find(hostname, prefix) {
    const key = searchKey(hostname);
    const folder = `${prefix}search/${rangeOf(key)}/`;
    const fetches = { left: Infinity };
    let other = {};
    try {
      const firsts = await this.#firstKeys(folder, fetches);
      const { first, end } = filesFor(firsts, key);
      for (let file = first; file < end && (file === first || firsts[file] === key); file += 1) {
        const names = linesFrom(await this.#read(`${folder}${file}.tsv`, fetches), key)
          .filter((entry) => entry.key === key).slice(0, MAX_NAMES_OF_KEY);
        const exact = names.find(({ host }) => host === hostname);
        if (exact) return exact;
        other = names[0] ?? other;
      }
    } catch {
      return null;
    }
    return other;
  }

  async #beginning(start, manifest, fetches) {
    const folder = `${manifest.prefix}search/${rangeOf(start)}/`;
    const firsts = await this.#firstKeys(folder, fetches);
    const lines = (text) => linesFrom(text, start);
    const { first, end } = filesFor(firsts, start);
    const best = manifest.search?.best && end - first > MAX_FILES_READ ? bestFileName(start) : null;
    const text = best ? await this.#read(folder + best, fetches, true) : "";
    if (text !== "") return lines(text).slice(0, MAX_NAMES);
    // Without a file of the best names, read the files with names that consist of `start` and a
    // suffix, and the alphabetically first ones.
    const suffixed = filesFor(firsts, `${start}.`);
    const numbers = new Set();
    for (let i = first; i < Math.min(end, first + MAX_FILES_READ); i += 1) numbers.add(i);
    for (let i = suffixed.first; i < Math.min(suffixed.end, suffixed.first + 2); i += 1) {
      numbers.add(i);
    }
    let entries = [];
    for (const number of numbers) {
      entries = entries.concat(lines(await this.#read(`${folder}${number}.tsv`, fetches)));
    }
    return bestAnswers(entries, start, MAX_NAMES);
  }

  /**
   * Resolves to the names that contain `start` or have it in their title, sorted by rank. If
   * several words were typed, each must be in the name or the title.
   */
  async #holding(typed, start, manifest, fetches) {
    const words = typedWords(typed);
    const [longest = ""] = words.toSorted((a, b) => b.length - a.length);
    const wanted = words.length > 1 ? longest : start;
    const key = [...wanted].slice(0, MAX_WORD).join("");
    if (key.length < MIN_INSIDE) return [];
    const folder = `${manifest.prefix}search/words/${rangeOf(key)}/`;
    const firsts = await this.#firstKeys(folder, fetches);
    const { first, end } = filesFor(firsts, key);
    const best = end - first > MAX_FILES_READ ? bestFileName(key) : null;
    const text = best ? await this.#read(folder + best, fetches, true) : "";
    let entries = wordLinesFrom(text, key);
    for (let i = first; text === "" && i < Math.min(end, first + MAX_FILES_READ); i += 1) {
      entries = entries.concat(wordLinesFrom(await this.#read(`${folder}${i}.tsv`, fetches), key));
    }
    const holdsAll = ({ key: name, title }) => {
      const text = foldedText(title);
      return words.length < 2 ? true : words.every((word) => text.includes(word) ||
        name.includes(word));
    };
    const byKey = new Map(entries.filter(holdsAll).map((entry) => [entry.key, entry]));
    return [...byKey.values()].sort(compareRanks);
  }

  /**
   * Resolves to the best hosts whose names, with or without their last label, differ from `start`
   * by at most one typing error, sorted by rank.
   */
  async #near(start, manifest, fetches) {
    if (!manifest.search?.best || [...start].length < MIN_MISSPELT) return [];
    const path = `${manifest.prefix}search/${rangeOf(start)}/${TOP_FILE}`;
    const hosts = linesFrom(await this.#read(path, fetches, true), "");
    const isNear = ({ key }) =>
      isOneErrorAway(key, start) || isOneErrorAway(key.slice(0, key.lastIndexOf(".")), start);
    return hosts.filter(isNear).sort(compareRanks).slice(0, MAX_NEAR);
  }

  async #firstKeys(folder, fetches) {
    const index = await this.#read(`${folder}index.tsv`, fetches);
    return index.split("\n").filter((key) => key !== "");
  }

  /**
   * Rejects if the file cannot be fetched, or if no more files may be fetched. If the file may be
   * missing and is, its content is "".
   */
  async #read(path, fetches, mayBeMissing = false) {
    const held = this.#held.get(path);
    if (held !== undefined) return held;
    if (fetches.left === 0) throw new FilesExhausted();
    fetches.left -= 1;
    const { value: text = "", trouble } = await fetchFile(path, { read: (file) => file.text() });
    if (trouble && !(mayBeMissing && trouble === "missing")) throw new Error(`${path}: ${trouble}`);
    this.#held.set(path, text);
    if (this.#held.size > MAX_FILES_HELD) this.#held.delete(this.#held.keys().next().value);
    return text;
  }
}

/** Returns the entries in a word file whose words start with `start`. */
export function wordLinesFrom(text, start) {
  const found = [];
  for (const line of text.split("\n")) {
    const at = line.indexOf("\t");
    if (at > 0 && line.slice(0, at).startsWith(start)) {
      found.push(...linesFrom(line.slice(at + 1), ""));
    }
  }
  return found;
}

/** Resolves to {host, bundle}, or to {bundle: -1, trouble}, where `trouble` is a message. */
export async function findBundleOf(hostname, prefix) {
  const found = await new SearchFiles().find(hostname, prefix);
  if (found?.host) return found;
  const name = shownHost(withoutWww(hostname));
  return {
    bundle: -1,
    trouble: found ? COMMON.notHere(name) : SEARCH.indexMissing(name),
  };
}
