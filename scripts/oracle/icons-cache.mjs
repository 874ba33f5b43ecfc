// What Chromium showed of each file, kept by the file's SHA-256, so that a file is shown once for
// each version of the browser and of what it is asked: an interrupted run goes on where it ended,
// and a run after a change of our decoders does not start the browser.
// Invariants: chromium.jsonl only grows, a line a file; a line that an end of the program cut off
// is passed over. Pixels are deflated.

import { createHash } from "node:crypto";
import {
  appendFileSync, closeSync, createReadStream, existsSync, mkdirSync, openSync, readSync,
  renameSync, writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { deflateRawSync, inflateRawSync } from "node:zlib";

const PICTURES = ["fitted", "averaged"];
const PNGS = ["managed", "raw"];

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** `seen` with each picture's pixels as `change` makes them of their bytes. */
function withPixels(seen, change) {
  const changed = PICTURES.filter((name) => seen[name]).map((name) => {
    const picture = seen[name];
    return [name, { ...picture, rgba: change(Buffer.from(picture.rgba, "base64")) }];
  });
  return { ...seen, ...Object.fromEntries(changed) };
}

export class Cache {
  /** `key` names the browser's version and all that it is asked. */
  static async open(folder, key) {
    const cache = new Cache();
    cache.folder = join(folder, key);
    cache.file = join(cache.folder, "chromium.jsonl");
    cache.places = new Map();
    for (const kind of PNGS) mkdirSync(join(cache.folder, kind), { recursive: true });
    // A line that was cut off ends here.
    if (existsSync(cache.file)) appendFileSync(cache.file, "\n");
    else writeFileSync(cache.file, "");
    let at = 0;
    for await (const line of createInterface({ input: createReadStream(cache.file) })) {
      const length = Buffer.byteLength(line);
      const key = /^\{"sha256":"([0-9a-f]{64})".*\}$/.exec(line)?.[1];
      if (key) cache.places.set(key, { at, length });
      at += length + 1;
    }
    cache.end = at;
    cache.handle = openSync(cache.file, "r");
    return cache;
  }

  has(key) {
    return this.places.has(key);
  }

  /** Keeps what the browser showed of the file with this SHA-256. */
  keep(key, { managed, raw, ...seen }) {
    for (const [kind, png] of [["managed", managed], ["raw", raw]]) {
      if (!png) continue;
      const file = this.png(kind, key);
      writeFileSync(`${file}.new`, Buffer.from(png, "base64"));
      renameSync(`${file}.new`, file);
    }
    const pixels = (bytes) => deflateRawSync(bytes).toString("base64");
    const line = JSON.stringify({ sha256: key, ...withPixels(seen, pixels) });
    appendFileSync(this.file, `${line}\n`);
    this.places.set(key, { at: this.end, length: Buffer.byteLength(line) });
    this.end += Buffer.byteLength(line) + 1;
  }

  /** What was kept; pixels as bytes of straight RGBA. */
  get(key) {
    const { at, length } = this.places.get(key);
    const line = Buffer.alloc(length);
    readSync(this.handle, line, 0, length, at);
    return withPixels(JSON.parse(line.toString()), inflateRawSync);
  }

  /** The file with a raster's natural pixels. */
  png(kind, key) {
    return join(this.folder, kind, `${key}.png`);
  }

  close() {
    closeSync(this.handle);
  }
}
