// Compares the page with a plain rendering (plain.js) in the same browser: node bench.mjs
// [everytab|plain]. Main-thread times are this thread's CPU. Prints an object per run, and at the
// end the medians over ROUNDS (3) runs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { makeCertificate } from "./certificate.mjs";
import { Chromium, findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const HERE = fileURLToPath(new URL("./", import.meta.url));
/** Chromium's "Fast 4G" preset, in bytes per second and milliseconds. */
const FAST_4G = {
  offline: false, latency: 165, downloadThroughput: 1_012_500, uploadThroughput: 168_750,
};
const BUNDLES = 700;
const STEP_PX = 60;
const PLAIN = `<!doctype html><html lang="en"><title>plain</title>
<link rel="stylesheet" href="plain.css"><div id="wall"></div>
<script type="module" src="plain.js"></script>`;
const WATCH = `
  window.watched = { shift: 0 };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!entry.hadRecentInput) window.watched.shift += entry.value;
    }
  }).observe({ type: 'layout-shift', buffered: true });
  const look = () => {
    if (document.querySelector('#wall .tab[href]')) {
      requestAnimationFrame(() => setTimeout(() => { window.watched.first = performance.now(); }));
    } else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);`;
const SCROLL = (frames) => `new Promise((done) => {
  const lengths = [];
  let last = performance.now();
  const step = (now) => {
    lengths.push(now - last);
    last = now;
    window.scrollBy(0, ${STEP_PX});
    if (lengths.length < ${frames}) requestAnimationFrame(step);
    else done(JSON.stringify(lengths));
  };
  requestAnimationFrame(step);
})`;

async function metrics(page) {
  const { metrics: all } = await page.call("Performance.getMetrics");
  return Object.fromEntries(all.map(({ name, value }) => [name, value]));
}

async function scrollUntil(page, server, bundles) {
  const asked = () => server.asked.filter((path) => path.includes("/tabs/")).length;
  for (let round = 0; asked() < bundles && round < 20_000; round += 1) {
    await page.evaluate("window.scrollBy(0, 1500)");
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))");
  }
}

function serve(name, tls) {
  const plain = name === "plain";
  return serveSample(sampleSite({ bundles: BUNDLES }), {
    gzip: true,
    tls,
    replace: (path) => {
      if (!plain) return null;
      if (path === "") return { status: 200, body: PLAIN };
      return /^plain\.(?:js|css)$/.test(path)
        ? { status: 200, body: readFileSync(HERE + path) } : null;
    },
  });
}

async function measureLoad(page, url) {
  await page.call("Performance.enable", { timeDomain: "threadTicks" });
  await page.call("Page.addScriptToEvaluateOnNewDocument", { source: WATCH });
  await page.call("Network.emulateNetworkConditions", FAST_4G);
  await page.open(`${url}#seed=7`);
  await page.until("the first tabs", "window.watched?.first > 0");
  await wait(4_000);
  const loaded = await metrics(page);
  const watched = JSON.parse(await page.evaluate("JSON.stringify(window.watched)"));
  await page.call("Network.emulateNetworkConditions", {
    offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1,
  });
  const idleFrom = await metrics(page);
  await wait(5_000);
  const idleTo = await metrics(page);
  return {
    first_tabs_ms: Math.round(watched.first),
    load_main_thread_ms: Math.round(loaded.TaskDuration * 1000),
    load_script_ms: Math.round(loaded.ScriptDuration * 1000),
    resting_main_thread_ms_a_second:
      Number(((idleTo.TaskDuration - idleFrom.TaskDuration) * 200).toFixed(2)),
  };
}

/** The view needs these frames to pass 50 bundles with 120 tabs, ten per row. */
async function measureScroll(page) {
  const frames = Math.ceil((50 * 12 * 46) / STEP_PX);
  const before = await metrics(page);
  const lengths = [];
  // Use several calls, so that none exceeds its time limit in a slow browser.
  while (lengths.length < frames) {
    lengths.push(...JSON.parse(await page.evaluate(SCROLL(Math.min(46, frames - lengths.length)))));
  }
  const after = await metrics(page);
  const ms = (name) => Math.round((after[name] - before[name]) * 1000);
  return {
    scroll_main_thread_ms: ms("TaskDuration"),
    scroll_script_ms: ms("ScriptDuration"),
    scroll_layout_and_style_ms: ms("LayoutDuration") + ms("RecalcStyleDuration"),
    scroll_frames_dropped:
      lengths.reduce((sum, length) => sum + Math.max(0, Math.round(length / 16.7) - 1), 0),
    layout_shift: Number((await page.evaluate("window.watched.shift")).toFixed(4)),
  };
}

async function measureGrowth(page, server, depths) {
  const grown = {};
  for (const bundles of depths) {
    await scrollUntil(page, server, bundles);
    await page.call("HeapProfiler.collectGarbage");
    const now = await metrics(page);
    grown[`after_${bundles}_bundles`] = {
      nodes: await page.evaluate("document.getElementsByTagName('*').length"),
      heap_mb: Number((now.JSHeapUsedSize / 1e6).toFixed(1)),
    };
  }
  return grown;
}

async function measure(name, depths, tls) {
  const browser = new Chromium(program, ["--ignore-certificate-errors"]);
  const server = await serve(name, tls);
  try {
    const page = await browser.page({ width: 1440, height: 900 });
    const result = {
      name, ...await measureLoad(page, server.url), ...await measureScroll(page),
    };
    console.log(JSON.stringify({ ...result, ...await measureGrowth(page, server, depths) }));
    assert.deepEqual(page.troubles, []);
    return result;
  } finally {
    await browser.close();
    await server.close();
  }
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const program = findChromium();
if (!program) {
  console.error("no chromium found; install it or name it in EVERYTAB_CHROMIUM");
  process.exit(1);
}
const rounds = Number(process.env.ROUNDS ?? 3);
const names = process.argv[2] ? [process.argv[2]] : ["everytab", "plain"];
const runs = [];
const tls = makeCertificate();
for (let round = 1; round <= rounds; round += 1) {
  for (const name of names) {
    const depths = name === "plain" ? [60, 100] : [60, 100, 500];
    runs.push(await measure(name, round === rounds ? depths : [], tls));
  }
}
for (const name of names) {
  const mine = runs.filter((run) => run.name === name);
  const middle = (key) => mine.map((run) => run[key]).sort((a, b) => a - b)[mine.length >> 1];
  const medians = Object.keys(mine[0]).map((key) => [key, key === "name" ? name : middle(key)]);
  console.log(JSON.stringify({ medians_of: rounds, ...Object.fromEntries(medians) }));
}
