// Compares what this project makes of icon files with what Chromium shows, and prints a table.
//
//     node scripts/oracle/icons-compare.mjs FOLDER CACHE KEY
//
// FOLDER has files.tsv (icons-files.mjs), ours.jsonl (the example decoded_icons on those files) and
// pictures.jsonl: that example on the browser's pictures of natural sides, CACHE/KEY/managed and
// raw, so that both sides' rasters went through our scaler. Writes FOLDER/differing.tsv: each file
// that differs, with the reason's name. How it is judged is said in icons-judge.mjs. Exit code 1
// where that fails.

import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Cache } from "./icons-cache.mjs";
import { listed } from "./icons-files.mjs";
import { differing, judged, rowOf } from "./icons-judge.mjs";

const [folder, cacheFolder, key] = process.argv.slice(2);

/** The lines of decoded_icons, one after another; pixels as bytes. */
async function* decoded(name) {
  const input = createReadStream(join(folder, name));
  for await (const line of createInterface({ input })) {
    const { fitted, ...rest } = JSON.parse(line);
    if (fitted) rest.fitted = { ...fitted, rgba: Buffer.from(fitted.rgba, "base64") };
    yield rest;
  }
}

/** Our scaler's picture of each of the browser's, by kind and SHA-256. */
const pictures = new Map();
for await (const { path, fitted } of decoded("pictures.jsonl")) {
  pictures.set(`${basename(dirname(path))}/${basename(path, ".png")}`, fitted);
}

const cache = await Cache.open(cacheFolder, key);
const files = listed(join(folder, "files.tsv"));
const rows = [];
// Both are in the same order.
for await (const ours of decoded("ours.jsonl")) {
  const file = files[rows.length];
  rows.push(rowOf({
    file,
    bytes: readFileSync(file.path),
    theirs: cache.get(file.sha256),
    ours,
    managed: pictures.get(`managed/${file.sha256}`),
    raw: pictures.get(`raw/${file.sha256}`),
  }));
}
cache.close();
if (rows.length !== files.length) throw new Error("ours.jsonl is not of files.tsv");
writeFileSync(join(folder, "differing.tsv"), `${differing(rows).join("\n")}\n`);
const { passed, lines } = judged(rows);
console.log(lines.join("\n"));
process.exitCode = passed ? 0 : 1;
