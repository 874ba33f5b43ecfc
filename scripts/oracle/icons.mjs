// Records how Chromium shows each icon file in a list.
//
//     node scripts/oracle/icons.mjs FILES.tsv CACHE [JOBS]
//
// icons-files.mjs writes FILES.tsv. JOBS browsers fill CACHE with the files that it lacks
// (icons-cache.mjs), and the last line on stdout is the cache's key. The result for each file has
// these fields:
//
//   loaded: whether `load` fired instead of `error`
//   decoded: whether `img.decode()` succeeded
//   width, height: natural dimensions
//   blank: whether all pixels are transparent or there is nothing to draw
//   fitted: the picture that the browser draws at 32x32 pixels, {width, height, rgba: straight
//     RGBA}. It keeps the aspect ratio. Rasters are never enlarged, and SVGs always are.
//   averaged: the same picture by another method. An SVG is drawn 8 times larger, and each 8x8
//     block is averaged. A larger raster is reduced by the area mean in linear light.
//   managed: a PNG of a raster in natural size, if that is at most 2048
//   raw: the same without the colour profile, if this makes a difference
//
// A file that crashes the browser or exceeds its time limit counts as not shown. For an ICO the
// browser shows the largest entry, and among equal sizes the one with most bits. For an animation
// it shows the first frame.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import http from "node:http";
import { pathToFileURL } from "node:url";
import { Chromium, findChromium } from "../../site/tests/chromium.mjs";
import { Cache, sha256 } from "./icons-cache.mjs";
import { kindOf, listed } from "./icons-files.mjs";
import { LIMITS, show } from "./icons-show.mjs";

const BATCH = 16;
/** A browser is closed after this many files because its memory grows. */
const BROWSER_FILES = 5_000;
/** Time limit for a batch in milliseconds. Some files exhaust memory before `show` times out. */
const BATCH_MS = 60_000;
const OPTIONS = ["--force-color-profile=srgb"];

// The browser sniffs every format except SVG.
const typeOf = (bytes) =>
  ["svg", "other"].includes(kindOf(bytes)) ? "image/svg+xml" : "image/png";

/** Returns a key for the browser's version and our instructions to it. */
export function cacheKey(program) {
  const version = spawnSync(program, ["--version"]).stdout.toString().match(/\d[\d.]*/)[0];
  const asked = sha256([show, typeOf, JSON.stringify(LIMITS), OPTIONS].join("\n"));
  return `chromium-${version}-${asked.slice(0, 8)}`;
}

async function serve(paths) {
  const server = http.createServer((request, response) => {
    const number = /^\/(\d+)$/.exec(request.url)?.[1];
    const bytes = number ? readFileSync(paths[number]) : Buffer.from("<!doctype html><body>");
    const type = number ? typeOf(bytes) : "text/html";
    response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
    response.end(bytes);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

class Shower {
  constructor(program, address, paths) {
    Object.assign(this, { program, address, paths, browser: null, page: null, shown: 0 });
  }

  async #ask(numbers) {
    if (!this.page) {
      this.browser = new Chromium(this.program, OPTIONS);
      this.page = await this.browser.page();
      await this.page.open(this.address);
      await this.page.until("the page",
        "location.href !== 'about:blank' && document.body !== null");
    }
    const images = numbers.map((number) =>
      [`/${number}`, typeOf(readFileSync(this.paths[number])) === "image/svg+xml"]);
    const answer = this.page.evaluate(`(async () => {
      ${show}
      const all = [];
      for (const [source, isSvg] of ${JSON.stringify(images)}) {
        all.push(await show(source, isSvg, ${JSON.stringify(LIMITS)}));
      }
      return all;
    })()`);
    let timer;
    const late = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error("chromium took too long")), BATCH_MS);
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
      answer.catch(() => {});
    }
  }

  async show(numbers) {
    try {
      const all = await this.#ask(numbers);
      this.shown += all.length;
      if (this.shown >= BROWSER_FILES) await this.close();
      return all;
    } catch (error) {
      await this.close();
      if (numbers.length === 1) {
        const fate = String(error.message).split("\n")[0];
        return [{ loaded: false, decoded: false, width: 0, height: 0, blank: true, fate }];
      }
      const alone = [];
      for (const number of numbers) alone.push(...await this.show([number]));
      return alone;
    }
  }

  async close() {
    const { browser } = this;
    Object.assign(this, { browser: null, page: null, shown: 0 });
    await browser?.close();
  }
}

async function fill(cache, program, files, jobs) {
  const missing = [...new Map(files.map(({ sha256: key, path }) => [key, path]))]
    .filter(([key]) => !cache.has(key));
  if (missing.length === 0) return;
  const paths = missing.map(([, path]) => path);
  const server = await serve(paths);
  const batches = Array.from({ length: Math.ceil(paths.length / BATCH) }, (_, i) =>
    [...paths.keys()].slice(i * BATCH, (i + 1) * BATCH));
  let done = 0;
  const work = async () => {
    const shower = new Shower(program, server.address, paths);
    try {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        const all = await shower.show(batch);
        batch.forEach((number, i) => cache.keep(missing[number][0], all[i]));
        done += batch.length;
        if (Math.floor(done / 1000) > Math.floor((done - batch.length) / 1000)) {
          console.error(`icons-oracle: Chromium has shown ${done} of ${paths.length}`);
        }
      }
    } finally {
      await shower.close();
    }
  };
  try {
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    server.close();
  }
}

async function main([list, folder, jobs = "1"]) {
  const program = findChromium();
  if (!program) throw new Error("no chromium is installed");
  const key = cacheKey(program);
  const cache = await Cache.open(folder, key);
  await fill(cache, program, listed(list), Number(jobs));
  cache.close();
  console.log(key);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main(process.argv.slice(2));
