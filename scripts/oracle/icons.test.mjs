// Tests the icon oracle with generated files and results, without a browser or a network.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { Cache, sha256 } from "./icons-cache.mjs";
import { kindOf, listed, sampled } from "./icons-files.mjs";
import { differing, judged, rowOf } from "./icons-judge.mjs";
import { FAR, REASONS } from "./icons-reasons.mjs";
import { LIMITS, show } from "./icons-show.mjs";

const script = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "everytab-icons-oracle-"));
after(() => rmSync(folder, { recursive: true }));

const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"/>');

function plain(red, green, blue, alpha = 255) {
  const pixels = Array.from({ length: 16 }, () => [red, green, blue, alpha]);
  return { width: 4, height: 4, rgba: Buffer.from(pixels.flat()) };
}
const GREY = plain(100, 100, 100);

/** Returns the row of a file that both programs show as a grey picture by default. */
function row({ bytes = PNG, name = "a", theirs = {}, ours = {}, ...pictures } = {}) {
  const kind = kindOf(bytes);
  return rowOf({
    file: { set: "set", kind, name, sha256: sha256(name), path: `/${name}` },
    bytes,
    theirs: { loaded: true, blank: false, width: 4, height: 4, fitted: GREY, ...theirs },
    ours: { kind: null, reason: null, width: 4, height: 4, fitted: GREY, ...ours },
    ...pictures,
  });
}
const refused = (kind) => ({ kind, reason: `${kind} it is`, fitted: undefined });
const brighter = (levels) => plain(100 + levels, 100 + levels, 100 + levels);

test("the same picture on both sides passes and has no name", () => {
  const same = row();
  assert.deepEqual([same.distance, same.differs, same.reason], [0, false, null]);
  assert.equal(judged([same]).passed, true);
});

test("pixels beyond the limit without a name fail, and those at the limit do not", () => {
  const far = row({ name: "far.png", ours: { fitted: brighter(FAR + 1) } });
  const { passed, lines } = judged([row(), far]);
  assert.equal(passed, false);
  assert.match(lines.join("\n"), /differ and have no name: 1\n {2}far set\/far\.png: 11\.00/);
  const near = row({ bytes: SVG, ours: { fitted: brighter(FAR) } });
  assert.equal(judged([near]).passed, true);
});

test("a file that one side alone shows fails unless it has a name", () => {
  const missing = row({ name: "b.png", ours: refused("image_corrupt") });
  const extra = row({ bytes: SVG, theirs: { loaded: false, blank: true, fitted: null } });
  for (const one of [missing, extra]) assert.equal(judged([row(), one]).passed, false);
  const named = row({ ours: refused("image_too_small") });
  const { passed, lines } = judged([row(), named]);
  assert.equal(passed, true);
  assert.match(lines.join("\n"), /tracking_pixel: 1, 0, 0, 0: /);
  assert.match(lines.join("\n"), /alone shows 1 of 2: 50\.00 %; without a name 0: 0\.00 %/);
});

test("a file that neither side shows is no difference", () => {
  const none = row({
    theirs: { loaded: true, blank: true, fitted: plain(0, 0, 0, 0) },
    ours: { ...refused("image_blank"), fitted: plain(0, 0, 0, 0) },
  });
  assert.equal(none.differs, false);
  assert.match(judged([none]).lines.join("\n"), /\| png, set \| 1 \| 0 \| 0 \| .* \| 1, 1 \|/);
});

test("a wrong alpha counts, and a picture of other sides", () => {
  const half = plain(0, 0, 0, 128);
  const alpha = row({ theirs: { fitted: plain(0, 0, 0) }, ours: { fitted: half } });
  assert.ok(alpha.distance > 100, alpha.distance);
  const wide = { width: 8, height: 4, rgba: Buffer.alloc(128, 255) };
  assert.ok(row({ ours: { fitted: wide } }).distance > 100);
});

test("the kinder of the browser's two pictures counts", () => {
  const theirs = { averaged: brighter(40) };
  assert.equal(row({ bytes: SVG, theirs, ours: { fitted: brighter(40) } }).distance, 0);
});

test("edges are a name only within the browser's own error", () => {
  const theirs = { averaged: brighter(-5) };
  const edges = row({ bytes: SVG, theirs, ours: { fitted: brighter(FAR + 2) } });
  assert.equal(edges.reason, "svg_edges");
  const wrong = row({ bytes: SVG, theirs, ours: { fitted: brighter(50) } });
  assert.deepEqual([wrong.differs, wrong.reason], [true, null]);
});

test("another filter is told from a wrong decoder", () => {
  const scaled = row({ theirs: { fitted: brighter(20) }, managed: GREY });
  assert.deepEqual([scaled.differs, scaled.reason], [true, "raster_filter"]);
  const wrong = row({ theirs: { fitted: brighter(20) }, managed: brighter(20) });
  assert.deepEqual([wrong.differs, wrong.reason], [true, null]);
  const profile = row({ theirs: { fitted: brighter(20) }, managed: brighter(20), raw: GREY });
  assert.equal(profile.reason, "colour_profile");
});

test("rasters that are decoded otherwise fail though their pixels are within the limit", () => {
  const theirs = { fitted: brighter(FAR - 1) };
  const rows = Array.from({ length: 50 }, () => row({ theirs, managed: theirs.fitted }));
  const { passed, lines } = judged([...rows, row()]);
  assert.equal(passed, false);
  assert.match(lines.join("\n"), /decoded within 3: 1\.96 %, at least 99\.00 %/);
  assert.match(lines.join("\n"), /differences without a name: 0/);
});

test("the list of what differs has a line for each file", () => {
  const rows = [row(), row({ name: "b.png", ours: refused("image_corrupt") }),
    row({ name: "c.png", ours: { fitted: brighter(50) } })];
  assert.deepEqual(differing(rows).slice(1), [
    "chromium_alone\tpng\tUNNAMED\t\tset\tb.png\timage_corrupt: image_corrupt it is\t/b.png",
    "far\tpng\tUNNAMED\t50.00\tset\tc.png\t\t/c.png",
  ]);
});

test("each name is one, and says what it means", () => {
  assert.equal(new Set(REASONS.map(({ name }) => name)).size, REASONS.length);
  for (const { name, means } of REASONS) assert.match(`${name}: ${means}`, /^[a-z0-9_]+: .{20,}/);
});

test("pixels to track and runs of OS/2 are told from other refusals", () => {
  const corrupt = refused("image_corrupt");
  assert.equal(row({ ours: corrupt, theirs: { width: 2, height: 1 } }).reason, "tracking_pixel");
  assert.equal(row({ ours: corrupt, theirs: { width: 3, height: 1 } }).reason, null);
  const os2 = Buffer.alloc(60);
  os2.write("BM");
  assert.equal(row({ bytes: os2, ours: corrupt }).reason, null);
  os2.writeUInt32LE(64, 14);
  os2.writeUInt32LE(4, 30);
  assert.equal(row({ bytes: os2, ours: corrupt }).reason, "bmp_os2_runs");
});

test("a picture that moves has a name, unless it is refused or Chromium's stands still", () => {
  const bytes = Buffer.from(`${SVG}<animate attributeName="x"/>`);
  const blank = { ...refused("image_blank"), fitted: plain(0, 0, 0, 0) };
  const later = { ours: { fitted: brighter(50) }, theirs: { averaged: brighter(20) } };
  assert.equal(row({ bytes, ...later }).reason, "svg_animation");
  assert.equal(row({ bytes, ours: { fitted: brighter(50) } }).reason, null);
  assert.equal(row({ bytes: SVG, ...later }).reason, null);
  const faint = { fitted: plain(100, 100, 100, 5) };
  assert.equal(row({ bytes, ours: blank, theirs: faint }).reason, "svg_animation");
  assert.equal(row({ bytes, ours: blank }).reason, null);
  assert.equal(row({ bytes, ours: refused("svg_rejected") }).reason, null);
});

test("a picture without a ratio has a name", () => {
  const reason = (attributes) => {
    const bytes = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"${attributes}/>`);
    return row({ bytes, theirs: { blank: true } }).reason;
  };
  for (const attributes of ["", ' width="9"', ' height="9"', ' width="9" height="100%"']) {
    assert.equal(reason(attributes), "svg_no_ratio", attributes);
  }
  for (const attributes of [' width="9" height="9px"', ' width="9" viewBox="0 0 9 9"']) {
    assert.equal(reason(attributes), null, attributes);
  }
});

test("limits that are documented have names, and other refusals do not", () => {
  const names = [
    ["image_too_big", "x", "too_large"],
    ["svg_rejected", "svg refused: more than 512 KiB", "svg_bytes"],
    ["svg_rejected", "svg refused: blend mode color-dodge", "svg_blend"],
    ["svg_rejected", "svg refused: text that the font lacks", "svg_glyphs"],
    ["svg_rejected", "svg refused: too much to draw", null],
    ["image_corrupt", "corrupt jpeg", null],
  ];
  for (const [kind, reason, name] of names) {
    const ours = { kind, reason, fitted: undefined };
    assert.equal(row({ bytes: SVG, ours }).reason, name, reason);
  }
});

test("a sample is the same for a seed, is part of a larger one, and has each kind", () => {
  const files = Array.from({ length: 40 }, (_, i) =>
    ({ kind: i % 4 === 0 ? "png" : "svg", sha256: sha256(String(i)) }));
  const five = sampled(files, 5, "1");
  assert.deepEqual(sampled([...files].reverse(), 5, "1").reverse(), five);
  assert.notDeepEqual(sampled(files, 5, "2"), five);
  assert.equal(five.filter(({ kind }) => kind === "png").length, 5);
  assert.equal(five.length, 10);
  const seven = sampled(files, 7, "1");
  assert.ok(five.every((file) => seven.includes(file)));
  assert.deepEqual(sampled(files, 0, "1"), files);
});

test("files are listed by their bytes, each once in a set", () => {
  const icons = join(folder, "icons");
  mkdirSync(join(icons, "deep"), { recursive: true });
  writeFileSync(join(icons, "a.svg"), SVG);
  writeFileSync(join(icons, "deep", "same.svg"), SVG);
  writeFileSync(join(icons, "named.jpg"), PNG);
  writeFileSync(join(icons, "readme.md"), "no icon");
  const list = join(folder, "files.tsv");
  const run = (...args) =>
    spawnSync(process.execPath, [script("icons-files.mjs"), list, "0", "1", ...args]);
  assert.equal(run(`one=${icons}`, `two=${icons}`).status, 0);
  const found = listed(list).map(({ set, kind, name }) => [set, kind, name].join(" "));
  assert.deepEqual(found,
    ["one svg a.svg", "one png named.jpg", "two svg a.svg", "two png named.jpg"]);
  const empty = join(folder, "empty");
  mkdirSync(empty);
  const none = run(`none=${empty}`);
  assert.equal(none.status, 1);
  assert.match(none.stderr.toString(), /there are no files to compare/);
});

test("what the browser showed is kept, and a line that was cut off is not", async () => {
  const [one, two] = [sha256("one"), sha256("two")];
  const fitted = { ...GREY, rgba: GREY.rgba.toString("base64") };
  const cache = await Cache.open(join(folder, "cache"), "key");
  cache.keep(one, { loaded: true, fitted, managed: PNG.toString("base64") });
  assert.deepEqual(cache.get(one).fitted, GREY);
  cache.close();
  const file = join(folder, "cache", "key", "chromium.jsonl");
  writeFileSync(file, `${readFileSync(file)}{"sha256":"${two}","load`);
  const again = await Cache.open(join(folder, "cache"), "key");
  assert.deepEqual([again.has(one), again.has(two)], [true, false]);
  again.keep(two, { loaded: false });
  assert.deepEqual(again.get(one).fitted, GREY);
  assert.equal(again.get(two).loaded, false);
  assert.deepEqual(readFileSync(again.png("managed", one)), PNG);
  again.close();
  const other = await Cache.open(join(folder, "cache"), "other");
  assert.equal(other.has(one), false);
  other.close();
});

test("the comparer reads what both sides wrote, and ends with 1 for a difference without a name",
  () => {
    const run = join(folder, "run");
    const [cache, icon] = [join(folder, "comparer"), join(run, "a.png")];
    mkdirSync(join(cache, "key"), { recursive: true });
    mkdirSync(run);
    writeFileSync(icon, PNG);
    const key = sha256(PNG);
    writeFileSync(join(run, "files.tsv"), `set\tpng\ta.png\t${key}\t${icon}\n`);
    const fitted = { ...GREY, rgba: deflateRawSync(GREY.rgba).toString("base64") };
    const theirs = { sha256: key, loaded: true, blank: false, width: 4, height: 4, fitted };
    writeFileSync(join(cache, "key", "chromium.jsonl"), `${JSON.stringify(theirs)}\n`);
    const line = (path, picture) => `${JSON.stringify({
      path, kind: null, reason: null, width: 4, height: 4,
      fitted: { ...picture, rgba: picture.rgba.toString("base64") },
    })}\n`;
    const compare = (ours, managed) => {
      writeFileSync(join(run, "ours.jsonl"), line(icon, ours));
      writeFileSync(join(run, "pictures.jsonl"), line(`${cache}/key/managed/${key}.png`, managed));
      return spawnSync(process.execPath, [script("icons-compare.mjs"), run, cache, "key"]);
    };
    assert.equal(compare(GREY, GREY).status, 0);
    assert.equal(compare(brighter(20), GREY).status, 1);
    assert.match(readFileSync(join(run, "differing.tsv"), "utf8"), /^far\tpng\tUNNAMED\t20\.00/m);
    const filtered = compare(brighter(20), brighter(20));
    assert.equal(filtered.status, 0, filtered.stderr.toString());
    assert.match(filtered.stdout.toString(), /raster_filter: 0, 0, 1, 0/);
  });

test("what runs in the page uses nothing from outside itself", () => {
  const names = new Set(["LIMITS", "sha256", "Buffer", "process"]);
  const words = String(show).match(/\b[A-Za-z]\w*\b/g);
  assert.deepEqual(words.filter((word) => names.has(word)), []);
  for (const name of Object.keys(LIMITS)) assert.ok(words.includes(name), name);
});
