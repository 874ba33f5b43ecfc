// Compares JPEGs with libjpeg-turbo, sample by sample.
//
//     node scripts/oracle/jpeg.mjs write FOLDER
//     node scripts/oracle/jpeg.mjs compare FOLDER OURS.jsonl
//
// `write` makes files with cjpeg for each combination of scan order, sampling factors, restart
// interval and size, and damages some of each kind. `compare` reads the output of `decoded_icons`
// and of djpeg for each file, prints a table, and fails if a sample differs. Pictures have at most
// 32 pixels per side, so that they are not scaled.
//
// Only the rows that are shown of a truncated file are compared. Differences in damaged progressive
// files are counted but do not fail, because each version of djpeg smooths the end of such a file
// differently (docs/decisions/0134).

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const SIDES = [[1, 1], [7, 9], [16, 16], [17, 23], [32, 31], [5, 32], [32, 5]];
const SCANS = {
  one: null,
  each: "0;\n1;\n2;\n",
  "luma-chroma": "0;\n1 2;\n",
  "two-one": "0 1;\n2;\n",
  reversed: "2;\n1;\n0;\n",
  progressive: "progressive",
};
const SAMPLINGS = [
  "1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "2x4", "3x1", "1x3", "2x2,1x2,1x1",
  "2x2,2x1,1x2", "1x1,2x2,2x2", "2x1,1x2,1x1", "4x2,2x1,1x1", "2x2,2x2,2x2", "3x2,1x2,1x1",
];
const RESTARTS = ["", "1B", "3B", "1"];
const DAMAGES = ["flip", "drop", "insert", "cut"];
const MAX_BUFFER = 1 << 26;

/** A random number generator: xorshift32 (Marsaglia 2003). */
function numbers(seed) {
  let state = Math.imul(seed, 0x9e3779b9) | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

function picture(width, height) {
  const below = numbers(width * 1000 + height);
  const pixels = Array.from({ length: width * height }, (_, at) => {
    const [x, y] = [(at % width) / width, Math.floor(at / width) / height];
    const inside = (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.09;
    const colour = inside ? [230 - 200 * y, 40 + 90 * x, 90] : [255 * x, 255 * y, 255 - 255 * x];
    return colour.map((level) => Math.min(Math.max(level + below(25) - 12, 0), 255));
  });
  return Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), Buffer.from(pixels.flat())]);
}

function encode(ppm, scans, sampling, restart, script) {
  const options = ["-quality", "85", "-sample", sampling];
  options.push(scans === "progressive" ? "-progressive" : "-baseline");
  if (scans && scans !== "progressive") {
    writeFileSync(script, scans);
    options.push("-scans", script);
  }
  if (restart) options.push("-restart", restart);
  const done = spawnSync("cjpeg", options, { input: ppm, maxBuffer: MAX_BUFFER });
  // cjpeg rejects units with more than ten blocks, which JPEG does not allow.
  return done.status === 0 ? done.stdout : null;
}

function damaged(file, damage, below) {
  const start = file.indexOf(Buffer.from([0xff, 0xda])) + 14;
  const at = start + below(Math.max(file.length - 10 - start, 1));
  const copy = Buffer.from(file);
  if (damage === "flip") {
    copy[at] ^= 1 << below(8);
    return copy;
  }
  const [head, tail] = [copy.subarray(0, at), copy.subarray(at)];
  if (damage === "drop") return Buffer.concat([head, tail.subarray(1 + below(8))]);
  if (damage === "cut") return head;
  return Buffer.concat([head, Buffer.from(Array.from({ length: 5 }, () => below(256))), tail]);
}

function write(folder) {
  mkdirSync(folder, { recursive: true });
  const below = numbers(134);
  let count = 0;
  const keep = (name, bytes) => {
    writeFileSync(join(folder, `${name}.jpg`), bytes);
    count += 1;
  };
  for (const [width, height] of SIDES) {
    const ppm = picture(width, height);
    for (const [order, scans] of Object.entries(SCANS)) {
      for (const sampling of SAMPLINGS) {
        for (const restart of RESTARTS) {
          const file = encode(ppm, scans, sampling, restart, `${folder}.scans`);
          if (!file) continue;
          const name = `${order}_${sampling}_${restart || 0}_${width}x${height}`;
          keep(`whole_${name}`, file);
          if (width * height < 300) continue;
          for (const damage of DAMAGES) keep(`${damage}_${name}`, damaged(file, damage, below));
        }
      }
    }
  }
  console.log(`${count} files`);
}

/** Returns djpeg's width, height and RGB for a file, or null if it rejects the file. */
function reference(path) {
  const done = spawnSync("djpeg", ["-ppm", path], { maxBuffer: MAX_BUFFER });
  if (done.status === 1 || done.stdout.length === 0) return null;
  const [, width, height] = /^P6\n(\d+) (\d+)\n255\n/.exec(done.stdout.toString("latin1", 0, 40));
  const rgb = done.stdout.subarray(done.stdout.length - width * height * 3);
  return { width: Number(width), height: Number(height), rgb };
}

function unlike(ours, theirs) {
  if (!ours !== !theirs) return ours ? "only ours" : "only libjpeg's";
  if (!ours) return null;
  const { width, height } = ours;
  if (width !== theirs.width || height !== theirs.height) return "sides";
  const rgba = Buffer.from(ours.rgba, "base64");
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const [a, b] = [rgba.subarray(pixel * 4), theirs.rgb.subarray(pixel * 3)];
    if (a[3] !== 0 && (a[0] !== b[0] || a[1] !== b[1] || a[2] !== b[2])) return "samples";
  }
  return null;
}

function isMeant(damage, order, difference) {
  if (damage === "whole" || difference === "sides") return false;
  if (order === "progressive") return true;
  // With one scan a browser shows the part before a fault. With several it shows nothing if the
  // file ends early, which also happens if a damaged length points past the end.
  return difference === (order === "one" && damage !== "cut" ? "only ours" : "only libjpeg's");
}

function compare(folder, list) {
  const lines = readFileSync(list, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const table = {};
  const faults = [];
  for (const { path, fitted } of lines) {
    const [damage, order] = basename(path).split("_");
    const difference = unlike(fitted ?? null, reference(path));
    const row = `${damage} ${order === "progressive" ? order : "sequential"}`;
    table[row] ??= { files: 0, same: 0, meant: 0, unlike: 0 };
    table[row].files += 1;
    if (!difference) {
      table[row].same += 1;
    } else if (isMeant(damage, order, difference)) {
      table[row].meant += 1;
    } else {
      table[row].unlike += 1;
      faults.push(`${basename(path)}: ${difference}`);
    }
  }
  console.table(table);
  if (lines.length !== readdirSync(folder).length) faults.push("files are missing in the list");
  for (const fault of faults.slice(0, 50)) console.error(fault);
  if (faults.length > 0) process.exit(1);
}

const [command, folder, list] = process.argv.slice(2);
execFileSync("djpeg", ["-version"], { stdio: "ignore" });
if (command === "write") write(folder);
else compare(folder, list);
