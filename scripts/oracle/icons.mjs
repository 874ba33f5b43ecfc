// Asks Chromium what it shows of every icon file below a folder.
//
//     node scripts/oracle/icons.mjs FOLDER OUT.jsonl [PICTURES]
//
// OUT has a line a file: path, loaded (`load` came, not `error`), decoded (`img.decode()` too),
// width and height (natural), blank (all pixels transparent, or nothing to draw), and fitted: the
// picture drawn by the browser in 32x32 pixels, {width, height, rgba: base64 of straight RGBA}. Its
// aspect ratio is kept, a raster is never enlarged, an SVG always is. An SVG has averaged too: it
// is drawn 8 times as large, and each 8x8 pixels are averaged; how far that is from fitted is the
// browser's own error. PICTURES gets each raster as managed/PATH.png with its natural sides, where
// they are at most MAX_SIDE, and as raw/PATH.png without the colour profile, where that makes a
// difference.
// Invariants: a file is told by its bytes alone; the browser sees them on loopback, with nothing
// else to load; a file that costs the browser its life or PATIENCE_MS is one that it does not show.
// Of an ICO the browser shows the largest entry, and of equal ones that of most bits, at whatever
// size it is drawn: its decoder sorts the directory so. Of an animation it is the first frame.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import http from "node:http";
import { dirname, join, relative } from "node:path";
import { Chromium, findChromium } from "../../site/tests/chromium.mjs";

const FITTED_SIDE = 32;
const MAX_SIDE = 2048;
const BATCH = 16;
const AVERAGED_SIDE = 8;
const PATIENCE_MS = 20_000;

/** What a raster begins with. Any other file is told to be SVG: the browser sniffs all but that. */
const RASTER = /^(\x89PNG|\xff\xd8\xff|GIF8|\0\0[\x01\x02]\0|BM|RIFF[^]{4}WEBP|[^]{4}ftyp)/;
const typeOf = (bytes) =>
  RASTER.test(bytes.toString("latin1", 0, 16)) ? "image/png" : "image/svg+xml";

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** In the page: shows one image. */
async function show(source, isSvg, { fittedSide, maxSide, patience, averagedSide }) {
  const image = new Image();
  const intime = (promise) => Promise.race([
    promise.then(() => true, () => false),
    new Promise((resolve) => { setTimeout(resolve, patience, false); }),
  ]);
  const base64 = async (blob) => {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) {
      text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    }
    return btoa(text);
  };
  const draw = (drawn, width, height) => {
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.imageSmoothingQuality = "high";
    context.drawImage(drawn, 0, 0, width, height);
    const rgba = context.getImageData(0, 0, width, height).data;
    return { rgba, png: async () => base64(await canvas.convertToBlob()) };
  };
  const averaged = (width, height) => {
    const row = width * averagedSide;
    const { rgba } = draw(image, row, height * averagedSide);
    const sums = new Float64Array(width * height * 4);
    for (let at = 0; at < rgba.length; at += 4) {
      const [x, y] = [at / 4 % row, Math.floor(at / 4 / row)];
      const to = (Math.floor(y / averagedSide) * width + Math.floor(x / averagedSide)) * 4;
      for (let c = 0; c < 3; c += 1) sums[to + c] += rgba[at + c] * rgba[at + 3];
      sums[to + 3] += rgba[at + 3];
    }
    return Uint8ClampedArray.from(sums, (sum, i) =>
      i % 4 === 3 ? sum / averagedSide ** 2 : sum / Math.max(sums[i | 3], 1));
  };
  const seen = { loaded: false, decoded: false, width: 0, height: 0, blank: true, fitted: null };
  const loading = new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = reject;
  });
  image.src = source;
  document.body.replaceChildren(image);
  seen.loaded = await intime(loading);
  if (!seen.loaded) return seen;
  seen.decoded = await intime(image.decode());
  [seen.width, seen.height] = [image.naturalWidth, image.naturalHeight];
  if (seen.width === 0 || seen.height === 0) return seen;
  let sides = [seen.width, seen.height];
  if (isSvg) {
    // Natural sides are rounded; those of the layout have 64 steps a pixel.
    image.style.cssText = "width: 6400px; height: auto";
    const { width, height } = image.getBoundingClientRect();
    if (height > 0) sides = [width, height];
    image.style.cssText = "";
  }
  const longest = Math.max(...sides);
  const scale = isSvg || longest > fittedSide ? fittedSide / longest : 1;
  const [width, height] = sides.map((side) => Math.max(Math.round(side * scale), 1));
  const picture = async (rgba) => ({ width, height, rgba: await base64(new Blob([rgba])) });
  const { rgba } = draw(image, width, height);
  seen.fitted = await picture(rgba);
  seen.blank = rgba.every((value, i) => i % 4 !== 3 || value === 0);
  if (isSvg) {
    seen.averaged = await picture(averaged(width, height));
  } else if (longest <= maxSide) {
    const managed = draw(image, seen.width, seen.height);
    seen.managed = await managed.png();
    // No bitmap is made of a damaged picture, though it is shown.
    const bitmap = await createImageBitmap(image, { colorSpaceConversion: "none" })
      .catch(() => null);
    const raw = bitmap && draw(bitmap, seen.width, seen.height);
    if (raw?.rgba.some((value, i) => value !== managed.rgba[i])) seen.raw = await raw.png();
  }
  return seen;
}

/** Serves an empty page, and under /NUMBER what `read` returns for it. */
async function serve(read) {
  const server = http.createServer((request, response) => {
    const number = /^\/(\d+)$/.exec(request.url)?.[1];
    const bytes = number ? read(Number(number)) : Buffer.from("<!doctype html><body>");
    const type = number ? typeOf(bytes) : "text/html";
    response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
    response.end(bytes);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** Calls `found(path, seen)` for every path below the folder, in their order. */
async function askChromium(program, folder, paths, found) {
  const read = (number) => readFileSync(join(folder, paths[number]));
  const server = await serve(read);
  const limits = JSON.stringify({
    fittedSide: FITTED_SIDE,
    maxSide: MAX_SIDE,
    patience: PATIENCE_MS,
    averagedSide: AVERAGED_SIDE,
  });
  let browser = null;
  let page = null;
  const ask = async (numbers) => {
    if (!page) {
      browser = new Chromium(program, ["--force-color-profile=srgb"]);
      page = await browser.page();
      await page.open(server.address);
      await page.until("the page", "location.href !== 'about:blank' && document.body !== null");
    }
    const images = numbers.map((number) =>
      [`/${number}`, typeOf(read(number)) === "image/svg+xml"]);
    return page.evaluate(`(async () => {
      const show = ${show};
      const all = [];
      for (const [source, isSvg] of ${JSON.stringify(images)}) {
        all.push(await show(source, isSvg, ${limits}));
      }
      return all;
    })()`);
  };
  const askAnew = async (numbers) => {
    try {
      return await ask(numbers);
    } catch (error) {
      await browser?.close();
      page = null;
      if (numbers.length === 1) {
        const fate = String(error.message).split("\n")[0];
        return [{ loaded: false, decoded: false, width: 0, height: 0, blank: true, fate }];
      }
      const alone = [];
      for (const number of numbers) alone.push(...await askAnew([number]));
      return alone;
    }
  };
  try {
    for (let from = 0; from < paths.length; from += BATCH) {
      const numbers = [...paths.keys()].slice(from, from + BATCH);
      const all = await askAnew(numbers);
      numbers.forEach((number, i) => found(paths[number], all[i]));
    }
  } finally {
    await browser?.close();
    server.close();
  }
}

async function main([folder, out, pictures]) {
  const program = findChromium();
  if (!program) throw new Error("no chromium is installed");
  const lines = [];
  const keep = (kind, path, picture) => {
    if (!pictures || !picture) return;
    const file = join(pictures, kind, `${path}.png`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.from(picture, "base64"));
  };
  await askChromium(program, folder, filesBelow(folder), (path, { managed, raw, ...seen }) => {
    lines.push(`${JSON.stringify({ path, ...seen })}\n`);
    keep("managed", path, managed);
    keep("raw", path, raw);
  });
  writeFileSync(out, lines.join(""));
}

await main(process.argv.slice(2));
