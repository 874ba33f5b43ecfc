// Compares what this project makes of icon files with what Chromium shows, and prints a table.
//
//     node scripts/oracle/icons-compare.mjs ICONS FOLDER
//
// FOLDER has chromium.jsonl (scripts/oracle/icons.mjs), ours.jsonl (the example decoded_icons on
// the same files), and pictures.jsonl: that example on the browser's pictures at natural size. So
// both sides' rasters went through our scaler, which scales in linear light on purpose, and the
// difference is one of decoding; that to the browser's own scaling is shown apart and not judged.
// SVG is compared as the browser draws it at 32 pixels.
// The difference of two pictures is the mean over pixels and channels of the sRGB values as
// composited on white and on black, the greater of the two, in levels of 255. Both, because with
// one alone a wrong alpha could go unseen. Exit code 1 beyond the limits below; differences that
// icons-reasons.mjs has a name for are counted by it and not judged.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NEAR, REASONS, reasonOf } from "./icons-reasons.mjs";

const LEAST_NEAR = 0.99;
const MOST_MISSING = 0.001;
const WORST_LISTED = 40;

const [icons, folder] = process.argv.slice(2);

function read(name) {
  const lines = readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line)).map((line) => [line.path, line]));
}

/** Straight RGBA on a canvas of these sides; what lies outside the picture is transparent. */
function padded({ width, height, rgba }, sides) {
  const bytes = Buffer.from(rgba, "base64");
  const canvas = Buffer.alloc(sides.width * sides.height * 4);
  for (let y = 0; y < height; y += 1) {
    bytes.copy(canvas, y * sides.width * 4, y * width * 4, (y + 1) * width * 4);
  }
  return canvas;
}

/** The mean differences on black and on white. */
function differences(one, other) {
  const sides = {
    width: Math.max(one.width, other.width),
    height: Math.max(one.height, other.height),
  };
  const [a, b] = [padded(one, sides), padded(other, sides)];
  let [onBlack, onWhite] = [0, 0];
  for (let at = 0; at < a.length; at += 4) {
    const [alpha, beta] = [a[at + 3], b[at + 3]];
    for (let channel = at; channel < at + 3; channel += 1) {
      const difference = (a[channel] * alpha - b[channel] * beta) / 255;
      onBlack += Math.abs(difference);
      onWhite += Math.abs(difference - alpha + beta);
    }
  }
  const samples = a.length / 4 * 3;
  return { onBlack: onBlack / samples, onWhite: onWhite / samples };
}

/** A picture as if its opacity were from 16 to 235. */
function withLimitedOpacity(picture) {
  const bytes = Uint8ClampedArray.from(Buffer.from(picture.rgba, "base64"), (value, i) =>
    i % 4 === 3 ? (value - 16) * 255 / 219 : value);
  return { ...picture, rgba: Buffer.from(bytes).toString("base64") };
}

function difference(one, other) {
  const { onBlack, onWhite } = differences(one, other);
  return Math.max(onBlack, onWhite);
}

/** How many pictures an ICO or CUR declares; 1 for all else. */
function entriesOf(bytes) {
  const isIcon = /^\0\0[\x01\x02]\0/.test(bytes.toString("latin1", 0, 4)) && bytes.length >= 6;
  return isIcon ? bytes.readUInt16LE(4) : 1;
}

const [chromium, ours, pictures] = ["chromium", "ours", "pictures"].map((name) =>
  read(`${name}.jsonl`));

function compare(theirs) {
  const { path } = theirs;
  const our = ours.get(path);
  const bytes = readFileSync(join(icons, path));
  const row = {
    path,
    group: path.includes("/") ? path.split("/")[0] : path.split(".").at(-1),
    bytes,
    entries: entriesOf(bytes),
    theirs: { ...theirs, shown: theirs.loaded && !theirs.blank },
    ours: { ...our, shown: our.kind === null },
  };
  if (row.theirs.shown && our.fitted) {
    const managed = pictures.get(`managed/${path}.png`)?.fitted ?? theirs.fitted;
    const raw = pictures.get(`raw/${path}.png`)?.fitted;
    row.decoding = difference(managed, our.fitted);
    row.onBlack = differences(managed, our.fitted).onBlack;
    row.scaling = difference(theirs.fitted, our.fitted);
    if (raw) row.raw = difference(raw, our.fitted);
    row.limitedOpacity = difference(managed, withLimitedOpacity(our.fitted));
    if (theirs.averaged) row.ownError = difference(theirs.averaged, theirs.fitted);
  }
  row.differs = row.theirs.shown !== row.ours.shown || row.decoding > NEAR;
  row.reason = row.differs ? reasonOf(row) : null;
  return row;
}

const rows = [...chromium.values()].map(compare);
const isMissing = (row) => row.theirs.shown && !row.ours.shown;
const isExtra = (row) => row.ours.shown && !row.theirs.shown;
const isOneSize = (row) => row.theirs.shown && row.ours.shown && row.entries === 1;
const isJudged = (row) => isOneSize(row) && !row.reason;
const isNear = (row) => row.decoding <= NEAR;
const count = (all, ...tests) => all.filter((row) => tests.every((is) => is(row))).length;
const unnamed = (row) => !row.reason;
/** The rows of each key, in the order of the keys' first rows. */
const grouped = (all, key) => [...new Set(all.map(key))].map((name) =>
  [name, all.filter((row) => key(row) === name)]);
const percent = (share) => `${(share * 100).toFixed(2)} %`;
const print = (...lines) => console.log(lines.join("\n"));

function quantiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.ceil(sorted.length * share) - 1].toFixed(2);
  return sorted.length > 0 ? `${at(0.5)}, ${at(0.99)}` : "";
}

function tableRow(name, all) {
  const judged = all.filter(isJudged);
  return [
    name,
    all.length,
    count(all, ({ theirs }) => theirs.shown),
    count(all, ({ ours: { shown } }) => shown),
    `${count(all, isMissing)}, ${count(all, isMissing, unnamed)}`,
    count(all, isExtra),
    `${count(all, ({ theirs }) => theirs.loaded && theirs.blank)}, ` +
      `${count(all, ({ ours: { kind } }) => kind === "image_blank")}`,
    judged.length,
    judged.length > 0 ? percent(count(judged, isNear) / judged.length) : "",
    quantiles(judged.map(({ decoding }) => decoding)),
    quantiles(judged.map(({ scaling }) => scaling)),
  ];
}

function table() {
  const head = ["", "files", "Chromium shows", "ours shows", "Chromium alone, unnamed",
    "ours alone", "blank: Chromium, ours", "one size, unnamed", `within ${NEAR}`, "p50, p99",
    "to Chromium's scaling p50, p99"];
  const groups = [...grouped(rows, ({ group }) => group), ["all", rows]];
  const lines = groups.map(([name, all]) => tableRow(name, all));
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
}

function listed(title, found, why) {
  print("", `${title}: ${found.length}`);
  for (const [reason, some] of grouped(found, why)) {
    print(`  ${reason}: ${some.length}`);
    for (const { path, theirs } of some) print(`    ${path} ${theirs.width}x${theirs.height}`);
  }
}

print(...table(), "", "differences by name: Chromium alone, ours alone, pixels of one size, other");
for (const { name, means } of REASONS) {
  const named = rows.filter(({ reason }) => reason === name);
  const both = named.filter((row) => !isMissing(row) && !isExtra(row));
  print(`  ${name}: ${count(named, isMissing)}, ${count(named, isExtra)}, ` +
    `${count(both, ({ entries }) => entries === 1)}, ` +
    `${count(both, ({ entries }) => entries !== 1)}: ${means}`);
}
listed("Chromium alone shows, unnamed", rows.filter((row) => isMissing(row) && unnamed(row)),
  ({ ours: { reason } }) => reason);
listed("ours alone shows, unnamed", rows.filter((row) => isExtra(row) && unnamed(row)),
  ({ theirs: { loaded, fate } }) => fate ?? (loaded ? "blank in Chromium" : "not loaded"));
const isFar = (row) => row.theirs.shown && row.ours.shown && !isNear(row) && !row.reason;
const far = rows.filter(isFar).sort((a, b) => b.decoding - a.decoding);
print("", `more than ${NEAR} apart, unnamed: ${far.length}; the worst:`);
for (const { path, decoding, ours: our, theirs } of far.slice(0, WORST_LISTED)) {
  print(`  ${decoding.toFixed(2).padStart(6)} ${path} ${theirs.width}x${theirs.height}, ` +
    `ours ${our.width}x${our.height}`);
}
const oneSize = rows.filter(isOneSize);
const judged = rows.filter(isJudged);
const near = count(judged, isNear) / judged.length;
const missing = count(rows, isMissing, unnamed) / count(rows, ({ theirs }) => theirs.shown);
print("", `within ${NEAR}: ${percent(near)} of one size and unnamed, at least ` +
  `${percent(LEAST_NEAR)} (named ones too: ${percent(count(oneSize, isNear) / oneSize.length)})`,
`Chromium alone shows, unnamed: ${percent(missing)}, at most ${percent(MOST_MISSING)}`);
process.exitCode = near >= LEAST_NEAR && missing <= MOST_MISSING ? 0 : 1;
