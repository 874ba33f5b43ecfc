// Measures the map over 30 million hosts: 250,000 bundles, whose tiles are made on demand from a
// few that the browser itself encodes as JPEG. Measures frames while zooming, and the cost of
// "whole web to my site" through Fast 4G. Prints an object per run, and at the end the medians over
// ROUNDS (3) runs.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { makeCertificate } from "./certificate.mjs";
import { Chromium, findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { mapFormat, sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const BUNDLES = 250_000;
const TABS = 120;
/** Chromium's "Fast 4G" preset, in bytes per second and milliseconds. */
const FAST_4G = {
  offline: false, latency: 165, downloadThroughput: 1_012_500, uploadThroughput: 168_750,
};
const UNLIMITED = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
const VIEW = { width: 1440, height: 900 };
const JPEG_QUALITY = 0.5;
/**
 * Bytes per tile with real icons, by level from the finest one (26, 8.8 and 2.2 bytes per icon),
 * and by how much a compressed bundle with real icons exceeds a generated one
 * (docs/decisions/0023-what-is-loaded-first.md). Generated files are padded to these sizes.
 */
const TILE_BYTES = [112_000, 152_000, 154_000];
const MORE_BYTES_A_BUNDLE = 48_000;
/** As in a real scan's file; 0 measures the map without them. */
const LANDMARKS = Number(process.env.LANDMARKS ?? 220);
const PADDING = randomBytes(MORE_BYTES_A_BUNDLE).toString("base64");
const NAMES_A_FILE = 1_000;
const FRAMES = 240;
const STEP_PX = 9;
const REST_MS = 1_500;
const SITE_BUNDLE = 123_456;
const SITE_SLOT = 77;
const IS_IDLE = "document.querySelector('#map').ariaBusy === 'false'";
const ZOOM = (frames, step) => `new Promise((done) => {
  const canvas = document.querySelector('#map');
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const at = { clientX: left + width * 0.55, clientY: top + height * 0.45 };
  const lengths = [];
  let last = performance.now();
  const turn = (now) => {
    lengths.push(now - last);
    last = now;
    canvas.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY: ${step}, cancelable: true }));
    if (lengths.length < ${frames}) requestAnimationFrame(turn);
    else done(JSON.stringify(lengths));
  };
  requestAnimationFrame(turn);
})`;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function encodeTiles(browser) {
  const sample = withMap(sampleSite({ bundles: 24 ** 2, tabsABundle: TABS }));
  const server = await serveSample(sample);
  const page = await browser.page(VIEW);
  await page.open(`${server.url}404.html`);
  await page.until("a page", "document.readyState === 'complete'");
  const levels = [];
  for (let z = 0; z < sample.manifest.map.levels; z += 1) {
    const tiles = [];
    for (const [x, y] of [[0, 0], [1, 0], [0, 1], [1, 1]].slice(0, 4 >> z || 1)) {
      const base64 = await page.evaluate(`(async () => {
        const file = await (await fetch('${sample.prefix}map/${z}/${x}-${y}.png')).blob();
        const image = await createImageBitmap(file);
        const canvas = new OffscreenCanvas(image.width, image.height);
        canvas.getContext('2d').drawImage(image, 0, 0);
        const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality: ${JPEG_QUALITY} });
        return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
      })()`);
      const file = Buffer.from(base64, "base64");
      tiles.push(Buffer.concat([file, Buffer.alloc(Math.max(0, TILE_BYTES[z] - file.length))]));
    }
    levels.push(tiles);
  }
  await browser.call("Target.closeTarget", { targetId: page.targetId });
  await server.close();
  return levels;
}

function webOf(levels) {
  const sample = sampleSite({ bundles: BUNDLES, tabsABundle: TABS });
  const { host } = new URL(sample.bundle(SITE_BUNDLE).entries[SITE_SLOT].url);
  const lines = Array.from({ length: NAMES_A_FILE }, (_, i) =>
    `${host}${i === 0 ? "" : i}\t${SITE_BUNDLE}\t${SITE_SLOT + i}\n`).join("");
  const others = Array.from({ length: 1_100 }, (_, i) => `zz${i}zzzzzzzz.example\n`).join("");
  const web = {
    ...sample,
    manifest: {
      ...sample.manifest,
      map: { ...mapFormat(BUNDLES, TABS, "jpg"), ...(LANDMARKS > 0 ? { landmarks: true } : {}) },
    },
    landmarks: withMap(sample, { landmarks: LANDMARKS }).landmarks,
    bundle: (number) => ({ ...sample.bundle(number), padding: PADDING }),
    search: (name) => (name.endsWith("index.tsv") ? `0\n${others}` : lines),
    tile(z, x, y) {
      const tiles = levels[Math.min(z, levels.length - 1)];
      return tiles[(7 * x + 3 * y) % tiles.length];
    },
  };
  return { web, host: host.replace(/^www\./, "") };
}

async function metrics(page) {
  const { metrics: all } = await page.call("Performance.getMetrics");
  return Object.fromEntries(all.map(({ name, value }) => [name, value]));
}

function countTraffic(page) {
  const traffic = { requests: 0, kb: 0 };
  page.on("Network.responseReceived", ({ response }) => {
    traffic.requests += response.url.startsWith("data:") ? 0 : 1;
  });
  page.on("Network.loadingFinished", ({ encodedDataLength }) => {
    traffic.kb += encodedDataLength / 1000;
  });
  return traffic;
}

async function rest(page) {
  await wait(REST_MS);
  await page.until("rest", IS_IDLE);
}

async function measureFrames(page) {
  const before = await metrics(page);
  const lengths = [];
  for (const step of [-STEP_PX, STEP_PX]) {
    // Use several calls, so that none exceeds its time limit in a slow browser.
    for (let done = 0; done < FRAMES; done += 60) {
      lengths.push(...JSON.parse(await page.evaluate(ZOOM(60, step))).slice(1));
    }
    await rest(page);
  }
  const after = await metrics(page);
  const sorted = lengths.toSorted((a, b) => a - b);
  const part = (share) => Math.round(sorted[Math.floor(sorted.length * share)] * 10) / 10;
  return {
    frames: lengths.length,
    frame_ms_median: part(0.5),
    frame_ms_p95: part(0.95),
    frame_ms_p99: part(0.99),
    frame_ms_longest: Math.round(sorted.at(-1)),
    frames_dropped:
      lengths.reduce((sum, length) => sum + Math.max(0, Math.round(length / 16.7) - 1), 0),
    zoom_main_thread_ms: Math.round((after.TaskDuration - before.TaskDuration) * 1000),
    zoom_script_ms: Math.round((after.ScriptDuration - before.ScriptDuration) * 1000),
  };
}

async function measureWay(page, url, host, traffic) {
  await page.call("Network.emulateNetworkConditions", FAST_4G);
  const begun = performance.now();
  await page.open(`${url}map.html`);
  await page.until("the map", `document.querySelector('#seen')?.textContent && ${IS_IDLE}`);
  const whole = { ms: Math.round(performance.now() - begun), ...traffic };
  await page.evaluate(`(() => {
    document.querySelector('#site').value = '${host}';
    document.querySelector('#find').requestSubmit();
  })()`);
  const asked = performance.now();
  await page.until("the card", "!document.querySelector('#tab-card').hidden");
  const cardMs = Math.round(performance.now() - asked);
  await rest(page);
  return {
    whole_web_ms: whole.ms,
    whole_web_requests: whole.requests,
    whole_web_kb: Math.round(whole.kb),
    to_my_site_ms: cardMs,
    to_my_site_requests: traffic.requests - whole.requests,
    to_my_site_kb: Math.round(traffic.kb - whole.kb),
  };
}

async function measure(levels, tls) {
  const browser = new Chromium(program, ["--ignore-certificate-errors"]);
  const { web, host } = webOf(levels);
  const server = await serveSample(web, { gzip: true, tls });
  try {
    const page = await browser.page(VIEW);
    await page.call("Performance.enable", { timeDomain: "threadTicks" });
    const traffic = countTraffic(page);
    const way = await measureWay(page, server.url, host, traffic);
    await page.call("Network.emulateNetworkConditions", UNLIMITED);
    await page.evaluate("document.querySelector('[data-part=close]').click()");
    await page.evaluate("document.querySelector('#all').click()");
    await rest(page);
    const before = { ...traffic };
    const frames = await measureFrames(page);
    await page.call("HeapProfiler.collectGarbage");
    const result = {
      ...way,
      ...frames,
      zoom_requests: traffic.requests - before.requests,
      zoom_kb: Math.round(traffic.kb - before.kb),
      heap_mb: Number(((await metrics(page)).JSHeapUsedSize / 1e6).toFixed(1)),
    };
    console.log(JSON.stringify({ name: "map", ...result }));
    assert.deepEqual(page.troubles, []);
    return result;
  } finally {
    await browser.close();
    await server.close();
  }
}

const program = findChromium();
if (!program) {
  console.error("no chromium found; install it or name it in EVERYTAB_CHROMIUM");
  process.exit(1);
}
const rounds = Number(process.env.ROUNDS ?? 3);
const tls = makeCertificate();
const encoder = new Chromium(program);
const levels = await encodeTiles(encoder).finally(() => encoder.close());
console.log(JSON.stringify({ tile_kb: levels.map((tiles) => Math.round(tiles[0].length / 1000)) }));
const runs = [];
for (let round = 0; round < rounds; round += 1) runs.push(await measure(levels, tls));
const middle = (key) => runs.map((run) => run[key]).sort((a, b) => a - b)[rounds >> 1];
const medians = Object.fromEntries(Object.keys(runs[0]).map((key) => [key, middle(key)]));
console.log(JSON.stringify({ name: "map", medians_of: rounds, ...medians }));
