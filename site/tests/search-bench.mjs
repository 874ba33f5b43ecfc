// Looks up random prefixes and words in search files with the page's own code, and compares this
// with a plain scan over all names: node search-bench.mjs FOLDER PREFIXES TOP. The example
// search_files writes FOLDER. TOP is the JSON host list that it was given, and may be absent.

import { existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { bestAnswers, typedWords } from "../js/search-answers.js";
import { SearchFiles } from "../js/search-files.js";
import { searchKey } from "../js/search-keys.js";
import { generator } from "../js/stream.js";

const SHOWN = 8;
const OTHERS = 4;
/** The best of them may be the same names. */
const CANDIDATES = 400;
const [folder, wanted = "10000", top = ""] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node search-bench.mjs FOLDER [PREFIXES [TOP]]");
  process.exit(2);
}
const prefix = "scans/00000000-0000-0000-0000-000000000000/";
const search = `${folder}/site/${prefix}search`;
const kinds = JSON.parse(readFileSync(`${search}/kinds.json`, "utf8"));
const manifest = { prefix, search: kinds };
const random = generator(30);
/** Reading thirty million lines one by one takes minutes. */
function* list() {
  const [file, piece] = [openSync(`${folder}/names.txt`), Buffer.alloc(16 << 20)];
  let rest = "";
  for (;;) {
    const length = readSync(file, piece);
    if (length === 0) return;
    const lines = (rest + piece.latin1Slice(0, length)).split("\n");
    rest = lines.pop();
    yield lines;
  }
}

/** {status, bytes, packed} for each file. */
const requests = [];
globalThis.fetch = async (path) => {
  const file = `${folder}/site/${path}`;
  if (!existsSync(file)) {
    requests.push({ bytes: 0, packed: 0 });
    return { ok: false, status: 404 };
  }
  const body = readFileSync(file);
  requests.push({ bytes: body.length, packed: gzipSync(body, { level: 6 }).length });
  return { ok: true, status: 200, text: async () => body.toString() };
};

function entryOf(line) {
  const [host, rank = "", title = ""] = line.split("\t");
  return { host, key: searchKey(host), rank: Number(rank || Infinity), title };
}

function draw(count) {
  const [names, titled] = [[], []];
  let [seen, seenTitled] = [0, 0];
  const keep = (kept, one, nth, most) => {
    if (kept.length < most) kept.push(one);
    else if (random() < most / nth) kept[Math.floor(random() * most)] = one;
  };
  for (const lines of list()) {
    for (const line of lines) {
      seen += 1;
      keep(names, line, seen, 2 * count);
      if (line.includes("\t")) keep(titled, line, (seenTitled += 1), Math.ceil(count / 40));
    }
  }
  const prefixes = new Set(names.map((line) => {
    const { key } = entryOf(line);
    return key.slice(0, 1 + Math.floor(random() * key.length)) + (random() < 0.05 ? "~" : "");
  }));
  const words = new Set(titled.map((line) => {
    const of = typedWords(entryOf(line).title).filter((word) => word.length > 2);
    const word = of[Math.floor(random() * of.length)] ?? "shop";
    return word.slice(0, 3 + Math.floor(random() * (word.length - 2)));
  }));
  return { prefixes: [...prefixes].slice(0, count), words: [...words], names: seen };
}

function plainScan(prefixes, words) {
  const trie = new Map();
  for (const one of prefixes) {
    let node = trie;
    for (const character of one) {
      if (!node.has(character)) node.set(character, new Map());
      node = node.get(character);
    }
    node.found = [];
    node.start = one;
  }
  const nodes = new Map();
  const byWord = new Map(words.map((word) => [word, []]));
  const add = (entry) => {
    let node = trie;
    for (const character of entry.key) {
      node = node.get(character);
      if (!node) break;
      if (!node.found) continue;
      nodes.set(node.start, node);
      node.found.push(entry);
      if (node.found.length > CANDIDATES) node.found = best(node.found, node.start);
    }
    if (entry.title === "") return;
    const holds = new Set(typedWords(entry.title).slice(0, 10));
    for (const [word, found] of byWord) {
      if (![...holds].some((one) => one.startsWith(word)) && !isMiddle(entry, word)) continue;
      found.push(entry);
      if (found.length > CANDIDATES) found.sort(byRank).splice(CANDIDATES / 2);
    }
  };
  for (const lines of list()) {
    for (const line of lines) add(entryOf(line));
  }
  return {
    names: (start) => bestAnswers(nodes.get(start)?.found ?? [], start, SHOWN)
      .map(({ host }) => host),
    others: (word) => byWord.get(word).sort(byRank),
  };
}

const byRank = (a, b) => a.rank - b.rank;

function groupBy(values, of) {
  const groups = new Map();
  for (const value of values) {
    const group = groups.get(of(value)) ?? [];
    group.push(value);
    groups.set(of(value), group);
  }
  return groups;
}

function best(entries, start) {
  return bestAnswers(entries, start, 2 * SHOWN);
}

function isMiddle({ rank, key }, word) {
  const name = key.slice(0, Math.max(0, key.lastIndexOf(".")));
  const at = name.indexOf(word, 1);
  return rank <= 100_000 && at > 0;
}

async function lookUp(typed) {
  const files = new SearchFiles();
  const pauses = [];
  for (;;) {
    const from = requests.length;
    const { entries, isWhole, trouble } = await files.answer(typed, manifest, 2);
    const fetched = requests.splice(from);
    const sum = (field) => fetched.reduce((bytes, one) => bytes + one[field], 0);
    pauses.push({ requests: fetched.length, bytes: sum("bytes"), packed: sum("packed") });
    if (trouble) throw new Error(`${typed}: files are missing`);
    if (isWhole) return { entries, pauses };
  }
}

const spread = (all, of) => {
  const values = all.map(of).sort((a, b) => a - b);
  const at = (share) => values[Math.min(values.length - 1, Math.floor(values.length * share))];
  return { median: at(0.5), p99: at(0.99), most: values.at(-1) };
};

/**
 * Returns the share of these hosts that is shown once the first four letters in their names are
 * typed.
 */
async function topShown() {
  const keys = new Map();
  JSON.parse(readFileSync(top, "utf8")).forEach(({ rootDomain }, rank) => {
    const key = searchKey(rootDomain);
    if (!keys.has(key)) keys.set(key, rank);
  });
  const groups = groupBy([...keys.keys()], (key) => [...key].slice(0, 4).join(""));
  let [held, shown] = [0, 0];
  const missing = [];
  for (const [start, group] of groups) {
    const { entries } = await lookUp(start);
    const seen = new Set(entries.slice(0, SHOWN).map(({ key }) => key));
    const places = group.sort((a, b) => keys.get(a) - keys.get(b)).slice(0, SHOWN);
    held += places.length;
    shown += places.filter((key) => seen.has(key)).length;
    missing.push(...places.filter((key) => !seen.has(key)));
  }
  return { hosts: keys.size, places_can_hold: held, shown, share: shown / held, missing };
}

const { prefixes, words, names } = draw(Number(wanted));
const plain = plainScan(prefixes, kinds.words ? words : []);
const lookups = [];
let wrong = 0;
const complain = (...said) => {
  wrong += 1;
  if (wrong < 6) console.error(...said);
};
for (const start of prefixes) {
  const since = performance.now();
  const { entries, pauses } = await lookUp(start);
  lookups.push({ pauses, ms: performance.now() - since });
  const expected = plain.names(start);
  const found = entries.slice(0, expected.length).map(({ host }) => host);
  if (found.join() !== expected.join()) complain(`${start}: ${found} but ${expected}`);
}
for (const word of kinds.words ? words : []) {
  const { entries } = await lookUp(word);
  const begin = entries.filter(({ key }) => key.startsWith(word)).slice(0, SHOWN);
  const others = entries.slice(begin.length).map(({ rank }) => rank);
  const known = new Set(begin.map(({ key }) => key));
  const room = Math.max(OTHERS, SHOWN - begin.length);
  const expected = [...new Map(plain.others(word).map((one) => [one.key, one])).values()]
    .filter(({ key }) => !known.has(key)).slice(0, room).map(({ rank }) => rank);
  if (others.join() !== expected.join()) complain(`word ${word}: ${others} but ${expected}`);
}
const files = readdirSync(search, { recursive: true }).filter((name) => /\.\w+$/.test(name));
const kindsOf = groupBy(files, (name) =>
  `${name.startsWith("words") ? "words" : "names"} ${/best\//.test(name) ? "best"
    : name.endsWith("index.tsv") ? "index" : "sorted"}`);
const pauses = lookups.flatMap((lookup) => lookup.pauses);
console.log(JSON.stringify({
  names,
  files: Object.fromEntries([...kindsOf].map(([kind, of]) => {
    const sizes = of.map((name) => statSync(`${search}/${name}`).size);
    const sum = sizes.reduce((all, size) => all + size, 0);
    return [kind, { files: of.length, bytes: sum, largest: Math.max(...sizes) }];
  })),
  prefixes: prefixes.length,
  words: words.length,
  wrong,
  requests_a_pause: spread(pauses, (pause) => pause.requests),
  packed_bytes_a_pause: spread(pauses, (pause) => pause.packed),
  bytes_a_pause: spread(pauses, (pause) => pause.bytes),
  pauses: spread(lookups, (lookup) => lookup.pauses.length),
  requests_a_lookup: spread(lookups, (lookup) =>
    lookup.pauses.reduce((sum, pause) => sum + pause.requests, 0)),
  ms_a_lookup: spread(lookups, (lookup) => Number(lookup.ms.toFixed(2))),
  top: top ? await topShown() : null,
}, null, 1));
process.exit(wrong === 0 ? 0 : 1);
