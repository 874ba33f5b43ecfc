// Asks Chromium what it shows of each icon file of a list.
//
//     node scripts/oracle/icons.mjs FILES.tsv CACHE [JOBS]
//
// FILES.tsv is of icons-files.mjs. CACHE gets what is not in it yet (icons-cache.mjs), by JOBS
// browsers at once, and the last line on stdout is the cache's key. Of each file: loaded (`load`
// came, not `error`), decoded (`img.decode()` too), width and height (natural), blank (all pixels
// transparent, or nothing to draw), and fitted: the picture drawn by the browser in 32x32 pixels,
// {width, height, rgba: straight RGBA}. Its aspect ratio is kept, a raster is never enlarged, an
// SVG always is. averaged is the same made otherwise: an SVG drawn 8 times as large, each 8x8
// pixels averaged; a raster that is larger than 32x32 by the area mean in linear light. A raster is
// kept as PNG too: managed with its natural sides, where they are at most 2048, and raw without the
// colour profile, where that makes a difference.
// Invariants: a file is told by its bytes alone; the browser sees them on loopback, with nothing
// else to load; a file that costs the browser its life or its patience is one that it does not
// show. Of an ICO the browser shows the largest entry, and of equal ones that of most bits, at
// whatever size it is drawn: its decoder sorts the directory so. Of an animation it is the first
// frame.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import http from "node:http";
import { pathToFileURL } from "node:url";
import { Chromium, findChromium } from "../../site/tests/chromium.mjs";
import { Cache, sha256 } from "./icons-cache.mjs";
import { kindOf, listed } from "./icons-files.mjs";
import { LIMITS, show } from "./icons-show.mjs";

const BATCH = 16;
/** A browser that has shown this many is closed: its memory grows. */
const BROWSER_FILES = 5_000;
/** After this it is ended: some files take all memory before they take a call's patience. */
const BATCH_MS = 60_000;
const OPTIONS = ["--force-color-profile=srgb"];

// The browser sniffs all but SVG.
const typeOf = (bytes) =>
  ["svg", "other"].includes(kindOf(bytes)) ? "image/svg+xml" : "image/png";

/** Names the browser's version, and what it is asked. */
export function cacheKey(program) {
  const version = spawnSync(program, ["--version"]).stdout.toString().match(/\d[\d.]*/)[0];
  const asked = sha256([show, typeOf, JSON.stringify(LIMITS), OPTIONS].join("\n"));
  return `chromium-${version}-${asked.slice(0, 8)}`;
}

/** Serves an empty page, and each file as /NUMBER. */
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

/** One browser, started again when it ends. */
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

  /** What is shown of each file. */
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

/** Shows the files that the cache does not have. */
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
