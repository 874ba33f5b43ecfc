// Caches how Chromium shows each file, keyed by SHA-256, so that an interrupted run can resume, and
// a run after a change to our decoders does not start the browser. chromium.jsonl only grows, and
// an incomplete last line is skipped.

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

function withPixels(seen, change) {
  const changed = PICTURES.filter((name) => seen[name]).map((name) => {
    const picture = seen[name];
    return [name, { ...picture, rgba: change(Buffer.from(picture.rgba, "base64")) }];
  });
  return { ...seen, ...Object.fromEntries(changed) };
}

export class Cache {
  /** `key` identifies the browser's version and our instructions to it. */
  static async open(folder, key) {
    const cache = new Cache();
    cache.folder = join(folder, key);
    cache.file = join(cache.folder, "chromium.jsonl");
    cache.places = new Map();
    for (const kind of PNGS) mkdirSync(join(cache.folder, kind), { recursive: true });
    // The last line is incomplete.
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

  get(key) {
    const { at, length } = this.places.get(key);
    const line = Buffer.alloc(length);
    readSync(this.handle, line, 0, length, at);
    return withPixels(JSON.parse(line.toString()), inflateRawSync);
  }

  png(kind, key) {
    return join(this.folder, kind, `${key}.png`);
  }

  close() {
    closeSync(this.handle);
  }
}
