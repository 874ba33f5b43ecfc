// Looks up random prefixes in search files as search.js does, and compares with a plain scan of all
// names: node search-bench.mjs FOLDER PREFIXES; the example search_files writes FOLDER.

import { createReadStream, readdirSync, readFileSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { compareKeys, filesFor, linesFrom, rangeOf, searchKey } from "../js/search-keys.js";
import { generator } from "../js/random.js";

const SHOWN = 8;
const [folder, wanted = "10000"] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node search-bench.mjs FOLDER [PREFIXES]");
  process.exit(2);
}
const search = `${folder}/site/scans/00000000-0000-0000-0000-000000000000/search`;
const random = generator(30);
const list = () => createInterface({ input: createReadStream(`${folder}/names.txt`) });

/** A number of prefixes of names, and some of no name, chosen in one pass over the list. */
async function drawPrefixes(wished) {
  const count = 2 * wished;
  const names = [];
  let seen = 0;
  for await (const name of list()) {
    seen += 1;
    if (names.length < count) names.push(name);
    else if (random() < count / seen) names[Math.floor(random() * count)] = name;
  }
  const prefixes = new Set(names.map((name) => {
    const key = searchKey(name);
    return key.slice(0, 1 + Math.floor(random() * key.length)) + (random() < 0.05 ? "~" : "");
  }));
  return { prefixes: [...prefixes].slice(0, wished), names: seen };
}

/** The first names of each prefix, sorted, from one pass over the unsorted names. */
async function plainScan(prefixes) {
  const byLength = new Map();
  for (const prefix of prefixes) {
    if (!byLength.has(prefix.length)) byLength.set(prefix.length, new Map());
    byLength.get(prefix.length).set(prefix, []);
  }
  const order = (a, b) => compareKeys(a.key, b.key) || compareKeys(a.name, b.name);
  for await (const name of list()) {
    const key = searchKey(name);
    for (const [length, found] of byLength) {
      const first = found.get(key.slice(0, length));
      if (!first) continue;
      const one = { key, name };
      if (first.length === SHOWN && order(one, first[SHOWN - 1]) >= 0) continue;
      first.push(one);
      first.sort(order);
      if (first.length > SHOWN) first.pop();
    }
  }
  return (prefix) => byLength.get(prefix.length).get(prefix).map(({ name }) => name);
}

/** The result of a lookup with an empty cache, and the files that it read. */
function lookUp(start) {
  const bodies = [];
  const read = (name) => {
    bodies.push(readFileSync(`${search}/${name}`));
    return bodies.at(-1).toString();
  };
  const range = rangeOf(start);
  const firsts = read(`${range}/index.tsv`).split("\n").filter((key) => key !== "");
  const { first, end } = filesFor(firsts, start);
  let found = [];
  for (let file = first; file < end && found.length < SHOWN; file += 1) {
    found = found.concat(linesFrom(read(`${range}/${file}.tsv`), start, SHOWN - found.length));
  }
  return { found: found.map(({ host }) => host), bodies };
}

const { prefixes, names } = await drawPrefixes(Number(wanted));
const plain = await plainScan(prefixes);
const lookups = [];
let wrong = 0;
for (const prefix of prefixes) {
  const since = performance.now();
  const answer = lookUp(prefix);
  const ms = performance.now() - since;
  const { bodies } = answer;
  const sum = (of) => bodies.reduce((bytes, body) => bytes + of(body).length, 0);
  const [bytes, packed] = [sum((body) => body), sum((body) => gzipSync(body, { level: 6 }))];
  lookups.push({ requests: bodies.length, bytes, packed, ms });
  if (answer.found.join() !== plain(prefix).join()) {
    wrong += 1;
    if (wrong < 5) console.error(`${prefix}: ${answer.found} but ${plain(prefix)}`);
  }
}
const files = readdirSync(search, { recursive: true }).filter((name) => name.endsWith(".tsv"));
const sizes = files.map((name) => statSync(`${search}/${name}`).size);
const index = files.filter((name) => name.endsWith("index.tsv"))
  .map((name) => readFileSync(`${search}/${name}`));
const spread = (of) => {
  const values = lookups.map(of).sort((a, b) => a - b);
  const at = (share) => values[Math.min(values.length - 1, Math.floor(values.length * share))];
  return { median: at(0.5), p99: at(0.99), most: values.at(-1) };
};
console.log(JSON.stringify({
  names,
  files: files.length,
  bytes_stored: sizes.reduce((sum, size) => sum + size, 0),
  largest_index_bytes: Math.max(...index.map((body) => body.length)),
  largest_index_packed: Math.max(...index.map((body) => gzipSync(body).length)),
  prefixes: prefixes.length,
  wrong,
  requests_cold: spread((lookup) => lookup.requests),
  more_than_two_requests: lookups.filter((l) => l.requests > 2).length,
  packed_bytes_cold: spread((lookup) => lookup.packed),
  bytes_cold: spread((lookup) => lookup.bytes),
  ms_a_lookup: spread((lookup) => Number(lookup.ms.toFixed(2))),
}, null, 1));
process.exit(wrong === 0 ? 0 : 1);
