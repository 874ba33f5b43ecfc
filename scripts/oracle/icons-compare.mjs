// Compares our pictures with Chromium's for the same icon files, and prints a table.
//
//     node scripts/oracle/icons-compare.mjs FOLDER CACHE KEY
//
// FOLDER contains files.tsv (from icons-files.mjs), and the output of the example decoded_icons for
// those files (ours.jsonl) and for the browser's pictures in natural size (pictures.jsonl), so that
// our scaler was applied to both. Writes FOLDER/differing.tsv, which lists each file that differs
// and the name of the reason. Exits with 1 if the comparison fails.

import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Cache } from "./icons-cache.mjs";
import { listed } from "./icons-files.mjs";
import { differing, judged, rowOf } from "./icons-judge.mjs";

const [folder, cacheFolder, key] = process.argv.slice(2);

async function* decoded(name) {
  const input = createReadStream(join(folder, name));
  for await (const line of createInterface({ input })) {
    const { fitted, ...rest } = JSON.parse(line);
    if (fitted) rest.fitted = { ...fitted, rgba: Buffer.from(fitted.rgba, "base64") };
    yield rest;
  }
}

/** The browser's pictures after our scaler, by kind and SHA-256. */
const pictures = new Map();
for await (const { path, fitted } of decoded("pictures.jsonl")) {
  pictures.set(`${basename(dirname(path))}/${basename(path, ".png")}`, fitted);
}

const cache = await Cache.open(cacheFolder, key);
const files = listed(join(folder, "files.tsv"));
const rows = [];
// Both lists have the same order.
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
if (rows.length !== files.length) throw new Error("ours.jsonl and files.tsv list different files");
writeFileSync(join(folder, "differing.tsv"), `${differing(rows).join("\n")}\n`);
const { passed, lines } = judged(rows);
console.log(lines.join("\n"));
process.exitCode = passed ? 0 : 1;
