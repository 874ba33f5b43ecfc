// Measures the page beside a plain rendering (plain.js), in the same browser, over the same
// made-up site: node bench.mjs. Main-thread times are that thread's CPU. Numbers go to stdout.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Chromium, findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const HERE = fileURLToPath(new URL("./", import.meta.url));
/** As the developer tools of Chromium call it: bytes a second, milliseconds. */
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
// Scrolls on at a steady pace until so many frames have gone by; answers their lengths.
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

async function measure(browser, name) {
  const plain = name === "plain";
  const sample = sampleSite({ bundles: BUNDLES });
  const server = await serveSample(sample, {
    gzip: true,
    replace: (path) => {
      if (!plain) return null;
      if (path === "") return { status: 200, body: PLAIN };
      return /^plain\.(?:js|css)$/.test(path)
        ? { status: 200, body: readFileSync(HERE + path) } : null;
    },
  });
  const page = await browser.page({ width: 1440, height: 900 });
  await page.call("Performance.enable", { timeDomain: "threadTicks" });
  await page.call("Page.addScriptToEvaluateOnNewDocument", { source: WATCH });
  await page.call("Network.emulateNetworkConditions", FAST_4G);
  await page.open(`${server.url}#seed=7`);
  await page.until("the first tabs", "window.watched?.first > 0", 60_000);
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  const loaded = await metrics(page);
  const watched = JSON.parse(await page.evaluate("JSON.stringify(window.watched)"));
  const result = {
    name,
    first_tabs_ms: Math.round(watched.first),
    layout_shift: Number(watched.shift.toFixed(4)),
    main_thread_at_load_ms: Math.round(loaded.TaskDuration * 1000),
    script_at_load_ms: Math.round(loaded.ScriptDuration * 1000),
  };
  await page.call("Network.emulateNetworkConditions", {
    offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1,
  });
  const idleFrom = await metrics(page);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const idleTo = await metrics(page);
  result.main_thread_resting_ms_a_second =
    Number(((idleTo.TaskDuration - idleFrom.TaskDuration) * 200).toFixed(2));
  // So many frames take the view through 50 bundles of 120 tabs, ten a row.
  const frames = Math.ceil((50 * 12 * 46) / STEP_PX);
  const before = await metrics(page);
  const lengths = [];
  // In pieces: a browser that does not keep up takes its time, and each call has an end.
  while (lengths.length < frames) {
    lengths.push(...JSON.parse(await page.evaluate(SCROLL(Math.min(46, frames - lengths.length)))));
  }
  const after = await metrics(page);
  result.scrolling_50_bundles = {
    main_thread_ms: Math.round((after.TaskDuration - before.TaskDuration) * 1000),
    script_ms: Math.round((after.ScriptDuration - before.ScriptDuration) * 1000),
    layout_and_style_ms: Math.round(1000 * (after.LayoutDuration - before.LayoutDuration +
      after.RecalcStyleDuration - before.RecalcStyleDuration)),
    frames,
    frames_dropped: lengths.reduce((sum, ms) => sum + Math.max(0, Math.round(ms / 16.7) - 1), 0),
    shift: Number((JSON.parse(await page.evaluate("JSON.stringify(window.watched)")).shift)
      .toFixed(4)),
  };
  for (const bundles of plain ? [60, 100] : [60, 100, 500]) {
    await scrollUntil(page, server, bundles);
    await page.call("HeapProfiler.collectGarbage");
    const now = await metrics(page);
    result[`after_${bundles}_bundles`] = {
      nodes: await page.evaluate("document.getElementsByTagName('*').length"),
      heap_mb: Number((now.JSHeapUsedSize / 1e6).toFixed(1)),
    };
  }
  await browser.call("Target.closeTarget", { targetId: page.targetId });
  await server.close();
  return result;
}

const program = findChromium();
if (!program) {
  console.error("no chromium found; install it or name it in EVERYTAB_CHROMIUM");
  process.exit(1);
}
for (const name of process.argv[2] ? [process.argv[2]] : ["everytab", "plain"]) {
  const browser = new Chromium(program);
  try {
    console.log(JSON.stringify(await measure(browser, name), null, 1));
  } finally {
    await browser.close();
  }
}
