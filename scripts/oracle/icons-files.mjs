// Lists the icon files for the oracle: all files below some directories, or a sample.
//
//     node scripts/oracle/icons-files.mjs OUT.tsv SAMPLE SEED NAME=FOLDER...
//
// OUT has one line per file: set (NAME), kind (format), name (path below FOLDER), SHA-256, path. If
// several files in a set have the same bytes, one is listed. SAMPLE is the number of files per kind
// and set, or 0 for all. A sample contains the files whose SHA-256, hashed with SEED, sorts first,
// so that a larger sample contains the smaller ones.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { sha256 } from "./icons-cache.mjs";

const RASTERS = [
  ["png", /^\x89PNG/],
  ["jpeg", /^\xff\xd8\xff/],
  ["gif", /^GIF8/],
  ["ico", /^\0\0[\x01\x02]\0/],
  ["bmp", /^BM/],
  ["webp", /^RIFF[^]{4}WEBP/],
  ["avif", /^[^]{4}ftyp/],
];
const SVG = /<svg[\s>]/;
const NO_ICON = /\.(html?|md|txt|json|xml|css|py|tsv)$/i;

/** Detects the format from the bytes. */
export function kindOf(bytes) {
  const start = bytes.toString("latin1", 0, 16);
  const raster = RASTERS.find(([, begins]) => begins.test(start))?.[0];
  return raster ?? (SVG.test(bytes.toString("latin1")) ? "svg" : "other");
}

function filesBelow(set, folder) {
  const found = new Map();
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !NO_ICON.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  for (const path of entries) {
    const bytes = readFileSync(path);
    const key = sha256(bytes);
    if (found.has(key)) continue;
    found.set(key, { set, kind: kindOf(bytes), name: relative(folder, path), sha256: key, path });
  }
  return [...found.values()];
}

/** Returns up to `count` files per kind, or all of this list if `count` is 0. */
export function sampled(files, count, seed) {
  if (count === 0) return files;
  const taken = new Set();
  for (const kind of new Set(files.map((file) => file.kind))) {
    files.filter((file) => file.kind === kind)
      .map((file) => ({ file, rank: sha256(`${seed} ${file.sha256}`) }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1))
      .slice(0, count)
      .forEach(({ file }) => taken.add(file));
  }
  return files.filter((file) => taken.has(file));
}

/** Reads a list in this format. */
export function listed(list) {
  return readFileSync(list, "utf8").split("\n").filter(Boolean).map((line) => {
    const [set, kind, name, key, path] = line.split("\t");
    return { set, kind, name, sha256: key, path };
  });
}

function main([out, count, seed, ...folders]) {
  const files = folders.flatMap((argument) => {
    const at = argument.indexOf("=");
    const [set, folder] = [argument.slice(0, at), argument.slice(at + 1)];
    return sampled(filesBelow(set || basename(folder), folder), Number(count), seed);
  });
  if (files.length === 0) throw new Error("there are no files to compare");
  writeFileSync(out, files.map(({ set, kind, name, sha256: key, path }) =>
    `${[set, kind, name, key, path].join("\t")}\n`).join(""));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) main(process.argv.slice(2));
