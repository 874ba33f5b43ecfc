// Judges icon files: compares our picture of a file with the browser's, and names the reason if
// they differ.
//
// A raster has two differences. `distance` compares our picture with the browser's picture at 32x32
// pixels, whichever of its two scaling methods is closer (icons.mjs). `decoding` compares it with
// the browser's picture in natural size after our scaler, which separates a wrong decoder from a
// different filter. For an SVG both are equal. A file differs if only one program shows it, or if
// `distance` exceeds FAR.

import { difference, differences, withLimitedOpacity } from "./icons-differences.mjs";
import { FAR, NEAR, REASONS, reasonOf } from "./icons-reasons.mjs";

/** Minimum share of rasters without a named difference that must decode within NEAR. */
const LEAST_DECODED = 0.99;
/** Maximum share of files that Chromium shows and we do not, without a named reason. */
const GOAL_MISSING = 0.0005;
const FURTHEST_LISTED = 40;

/** Returns the number of pictures that an ICO or CUR declares, and 1 for other formats. */
function entriesOf(bytes) {
  const isIcon = /^\0\0[\x01\x02]\0/.test(bytes.toString("latin1", 0, 4)) && bytes.length >= 6;
  return isIcon ? bytes.readUInt16LE(4) : 1;
}

/**
 * Builds a file's row from its line in icons-files.mjs (`file`), the browser's result (`theirs`),
 * our line from decoded_icons (`ours`), and the browser's pictures after our scaler (`managed` and
 * `raw`).
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
  // This frees about 10 KB per file.
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

function table(rows) {
  const bySet = grouped(rows, ({ kind, set }) => `${kind}, ${set}`)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const byKind = grouped(rows, ({ kind }) => `${kind}, all`).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = [...bySet, ...byKind, ["all", rows]].map(([name, all]) => tableRow(name, all));
  return [HEAD, HEAD.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
}

/** Returns why only one program shows a file, without numbers, so that reasons can be grouped. */
function said({ ours, theirs }) {
  if (!ours.shown) return `${ours.kind}: ${ours.reason}`.replace(/\d+/g, "N");
  return theirs.fate ?? (theirs.loaded ? "blank in Chromium" : "not loaded by Chromium");
}

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

/** Returns every file that differs, as tab-separated lines. */
export function differing(rows) {
  const lines = rows.filter((row) => row.differs).map((row) =>
    [whatOf(row), row.kind, row.reason ?? "UNNAMED", row.distance?.toFixed(2) ?? "", row.set,
      row.name, isFar(row) ? "" : said(row), row.path].join("\t"));
  return ["what\tkind\tname\tdistance\tset\tfile\tsaid\tpath", ...lines.sort()];
}

/** Sums up all rows: lines to print, and whether the oracle passes. */
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
