// Judges icon files: what both sides made of one, how far that is apart, and whether a difference
// has a name; and what all of them come to. Reads no file, so that it is tested without a browser.
//
// A raster has two differences. `distance` is that to the browser's picture in 32x32 pixels, by the
// kinder of its two ways to draw one (icons.mjs). `decoding` is that to its picture of natural
// sides, which went through our scaler: it tells a wrong decoder from another filter. Of an SVG
// both are the same. A file differs where one side alone shows it, or by a distance beyond FAR. A
// difference without a name is a failure.

import { difference, differences, withLimitedOpacity } from "./icons-differences.mjs";
import { FAR, NEAR, REASONS, reasonOf } from "./icons-reasons.mjs";

/** Which share of the rasters without a name must be decoded within NEAR. */
const LEAST_DECODED = 0.99;
/** Which share of what Chromium shows may be missing here without a name: a goal. */
const GOAL_MISSING = 0.0005;
const FURTHEST_LISTED = 40;

/** How many pictures an ICO or CUR declares; 1 for all else. */
function entriesOf(bytes) {
  const isIcon = /^\0\0[\x01\x02]\0/.test(bytes.toString("latin1", 0, 4)) && bytes.length >= 6;
  return isIcon ? bytes.readUInt16LE(4) : 1;
}

/**
 * The row of a file: `file` is its line of icons-files.mjs, `theirs` what the browser showed,
 * `ours` the line of decoded_icons, `managed` and `raw` the browser's pictures through our scaler,
 * where there are such.
 */
export function rowOf({ file, bytes, theirs, ours, managed, raw }) {
  const row = {
    ...file,
    bytes,
    entries: entriesOf(bytes),
    theirs: { ...theirs, shown: theirs.loaded && !theirs.blank },
    ours: { ...ours, shown: ours.kind === null },
  };
  if (row.theirs.shown && ours.fitted) {
    const { fitted, averaged } = theirs;
    row.distance = Math.min(...[fitted, averaged].filter(Boolean)
      .map((picture) => difference(picture, ours.fitted)));
    const decoded = managed ?? fitted;
    row.decoding = file.kind === "svg" ? row.distance : difference(decoded, ours.fitted);
    row.onBlack = differences(decoded, ours.fitted).onBlack;
    row.limitedOpacity = difference(decoded, withLimitedOpacity(ours.fitted));
    if (raw) row.raw = difference(raw, ours.fitted);
    if (averaged) row.ownError = difference(averaged, fitted);
  }
  row.differs = row.theirs.shown !== row.ours.shown || row.distance > FAR;
  row.reason = row.differs || row.decoding > NEAR ? reasonOf(row) : null;
  // Some 10 KB a file that are no longer needed.
  delete row.bytes;
  for (const side of [row.theirs, row.ours]) {
    delete side.fitted;
    delete side.averaged;
  }
  return row;
}

const isBoth = (row) => row.theirs.shown && row.ours.shown;
const isMissing = (row) => row.theirs.shown && !row.ours.shown;
const isExtra = (row) => row.ours.shown && !row.theirs.shown;
const isUnnamed = (row) => row.reason === null;
const isFailure = (row) => row.differs && isUnnamed(row);
const isFar = (row) => isBoth(row) && row.distance > FAR;
const isDecoded = (row) => row.decoding <= NEAR;
const isJudgedRaster = (row) => isBoth(row) && row.kind !== "svg" && row.entries === 1 &&
  isUnnamed(row);
const count = (all, ...tests) => all.filter((row) => tests.every((is) => is(row))).length;
/** The rows of each key, in the order of the keys' first rows. */
const grouped = (all, key) => {
  const groups = new Map();
  for (const row of all) {
    const name = key(row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  return [...groups];
};
const percent = (some, all) => (all > 0 ? `${(some / all * 100).toFixed(2)} %` : "");

function quantiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.ceil(sorted.length * share) - 1].toFixed(2);
  return sorted.length > 0 ? `${at(0.5)}, ${at(0.99)}` : "";
}

const HEAD = ["format, set", "files", "Chromium shows", "both", "Chromium alone", "unnamed",
  "ours alone", "blank: Chromium, ours", `within ${NEAR}`, `within ${FAR}`, "beyond, unnamed",
  "p50, p99", `rasters decoded within ${NEAR}`];

function tableRow(name, all) {
  const both = all.filter(isBoth);
  const rasters = all.filter(isJudgedRaster);
  return [
    name,
    all.length,
    count(all, ({ theirs }) => theirs.shown),
    both.length,
    count(all, isMissing),
    count(all, isMissing, isUnnamed),
    count(all, isExtra),
    `${count(all, ({ theirs }) => theirs.loaded && theirs.blank)}, ` +
      `${count(all, ({ ours: { kind } }) => kind === "image_blank")}`,
    percent(count(both, ({ distance }) => distance <= NEAR), both.length),
    percent(count(both, ({ distance }) => distance <= FAR), both.length),
    count(both, isFar, isUnnamed),
    quantiles(both.map(({ distance }) => distance)),
    percent(count(rasters, isDecoded), rasters.length),
  ];
}

/** The table by format and set, by format, and of all, as lines of Markdown. */
function table(rows) {
  const bySet = grouped(rows, ({ kind, set }) => `${kind}, ${set}`)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const byKind = grouped(rows, ({ kind }) => `${kind}, all`).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = [...bySet, ...byKind, ["all", rows]].map(([name, all]) => tableRow(name, all));
  return [HEAD, HEAD.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
}

/** Why one side alone shows a file, as that side says it; without numbers, so that it can group. */
function said({ ours, theirs }) {
  if (!ours.shown) return `${ours.kind}: ${ours.reason}`.replace(/\d+/g, "N");
  return theirs.fate ?? (theirs.loaded ? "blank in Chromium" : "not loaded by Chromium");
}

/** What a file's difference is, in a word. */
function whatOf(row) {
  if (isMissing(row)) return "chromium_alone";
  return isExtra(row) ? "ours_alone" : "far";
}

function counted(title, found) {
  const lines = grouped(found, (row) => `${row.reason ?? "UNNAMED"}, ${said(row)}`)
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([name, all]) => `  ${all.length}: ${name}`);
  return ["", `${title}: ${found.length}`, ...lines];
}

function named(rows) {
  const lines = REASONS.map(({ name, means }) => {
    const all = rows.filter(({ reason }) => reason === name);
    const counts = [count(all, isMissing), count(all, isExtra), count(all, isFar),
      count(all, isBoth) - count(all, isFar)];
    return `  ${name}: ${counts.join(", ")}: ${means}`;
  });
  const head = "differences by name: Chromium alone, ours alone, ";
  return ["", `${head}beyond ${FAR}, from ${NEAR} to ${FAR}`, ...lines];
}

function furthest(rows) {
  const far = rows.filter(isFar).sort((a, b) => b.distance - a.distance);
  const lines = far.slice(0, FURTHEST_LISTED).map((row) =>
    `  ${row.distance.toFixed(2).padStart(6)} ${row.set}/${row.name} ` +
    `${row.theirs.width}x${row.theirs.height}, ours ${row.ours.width}x${row.ours.height}, ` +
    `${row.reason ?? "UNNAMED"}`);
  return ["", `more than ${FAR} apart: ${far.length}; the furthest:`, ...lines];
}

/** Every file that differs, as lines of tab-separated values. */
export function differing(rows) {
  const lines = rows.filter((row) => row.differs).map((row) =>
    [whatOf(row), row.kind, row.reason ?? "UNNAMED", row.distance?.toFixed(2) ?? "", row.set,
      row.name, isFar(row) ? "" : said(row), row.path].join("\t"));
  return ["what\tkind\tname\tdistance\tset\tfile\tsaid\tpath", ...lines.sort()];
}

/** What all rows come to: lines to print, and whether the oracle passes. */
export function judged(rows) {
  const failures = rows.filter(isFailure);
  const rasters = rows.filter(isJudgedRaster);
  const [shown, missing] = [count(rows, ({ theirs }) => theirs.shown), count(rows, isMissing)];
  const unnamed = count(rows, isMissing, isUnnamed);
  const decoded = rasters.length === 0 ? 1 : count(rasters, isDecoded) / rasters.length;
  return {
    passed: failures.length === 0 && decoded >= LEAST_DECODED,
    lines: [
      ...table(rows),
      ...counted("Chromium alone shows", rows.filter(isMissing)),
      ...counted("ours alone shows", rows.filter(isExtra)),
      ...named(rows),
      ...furthest(rows),
      "",
      `differ and have no name: ${failures.length}`,
      ...failures.map((row) => `  ${whatOf(row)} ${row.set}/${row.name}: ` +
        `${isFar(row) ? row.distance.toFixed(2) : said(row)}`),
      "",
      `Chromium alone shows ${missing} of ${shown}: ${percent(missing, shown)}; without a name ` +
        `${unnamed}: ${percent(unnamed, shown)}, at most ${percent(GOAL_MISSING, 1)} is the goal`,
      `rasters of one size without a name decoded within ${NEAR}: ` +
        `${percent(decoded, 1)}, at least ${percent(LEAST_DECODED, 1)}`,
      `differences without a name: ${failures.length}, at most 0`,
    ],
  };
}
