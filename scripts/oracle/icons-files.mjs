// Lists the icon files that the oracle compares: all below some folders, or a sample of them.
//
//     node scripts/oracle/icons-files.mjs OUT.tsv SAMPLE SEED NAME=FOLDER...
//
// OUT has a line a file: set (NAME), kind (its format), name (its path below FOLDER), SHA-256,
// path.
// Of the files of a set that have the same bytes one is listed. SAMPLE is how many files of each
// kind of a set are taken, 0 for all: those whose SHA-256, hashed with SEED, comes first, so that a
// sample is the same on every machine, and a larger one has all of a smaller one.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { sha256 } from "./icons-cache.mjs";

/** How the bytes of each raster format begin. */
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
/** Files beside the icons of a folder. */
const NO_ICON = /\.(html?|md|txt|json|xml|css|py|tsv)$/i;

/** The format by the bytes: of RASTERS, svg, or other. */
export function kindOf(bytes) {
  const start = bytes.toString("latin1", 0, 16);
  const raster = RASTERS.find(([, begins]) => begins.test(start))?.[0];
  return raster ?? (SVG.test(bytes.toString("latin1")) ? "svg" : "other");
}

/** The files of a folder, each once. */
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

/** At most `count` files of each kind, all if it is 0. */
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

/** Reads such a list. */
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
