// Takes screenshots of the page over the sample site: node shots.mjs FOLDER [WORD]. With WORD, only
// those whose name contains it. Prints the console messages of the page.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Chromium, findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const SETTLE_MS = 700;
const [folder, word = ""] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node shots.mjs FOLDER [WORD]");
  process.exit(2);
}
const program = findChromium();
if (!program) {
  console.error("no chromium found; install it or name it in EVERYTAB_CHROMIUM");
  process.exit(1);
}

const WALL = "document.querySelectorAll('.row .tab[href]').length > 10";
const skin = (name) => `(() => {
  const select = document.querySelector('#skin');
  select.value = '${name}';
  select.dispatchEvent(new Event('change'));
})()`;
const OPEN = `[...document.querySelectorAll('.row .tab:not(.outside)[href]')]
  .find((tab) => tab.getBoundingClientRect().top > 150).click()`;
const FIND = `(() => {
  const input = document.querySelector('#find');
  input.focus();
  input.value = 'am';
  input.dispatchEvent(new Event('input'));
})()`;

/** The screenshots: name, path, actions before it, and view. */
function* pictures() {
  const views = [
    { width: 360, height: 780, phone: true, scale: 2 },
    { width: 768, height: 1024, phone: true },
    { width: 1440, height: 900 },
    { width: 2560, height: 1440 },
  ];
  for (const view of views) {
    for (const scheme of ["light", "dark"]) {
      const shot = (what, rest) =>
        ({ name: `${what}-${view.width}-${scheme}`, view, scheme, ...rest });
      yield shot("wall", {});
      yield shot("open", { act: OPEN });
      yield shot("find", { act: FIND });
      for (const page of ["stats", "about", "bot", "404"]) {
        yield shot(page, { path: `${page}.html`, ready: "document.readyState === 'complete'" });
      }
      if (view.width === 2560 || view.width === 768) continue;
      for (const name of ["edge", "firefox", "safari"]) yield shot(name, { act: skin(name) });
    }
  }
}

const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

async function take(browser, server, { name, view, scheme, path = "#seed=7", ready = WALL, act }) {
  const page = await browser.page({ ...view, media: { "prefers-color-scheme": scheme } });
  // The page of a made-up site: the names of strangers are not resolved here.
  page.on("Fetch.requestPaused", ({ requestId }) => {
    const body = "<!doctype html><title>x</title><h1>A page in a frame</h1><p>It has come.</p>";
    void page.call("Fetch.fulfillRequest", {
      requestId,
      responseCode: 200,
      responseHeaders: [{ name: "content-type", value: "text/html" }],
      body: Buffer.from(body).toString("base64"),
    });
  });
  await page.call("Fetch.enable", { patterns: [{ urlPattern: "https://*" }] });
  await page.open(server.url + path);
  await page.until(name, ready);
  await settle();
  if (act) {
    await page.evaluate(act);
    await settle();
  }
  await page.screenshot(join(folder, `${name}.png`));
  for (const trouble of page.troubles) console.error(`${name} says: ${trouble}`);
  await browser.call("Target.closeTarget", { targetId: page.targetId });
}

mkdirSync(folder, { recursive: true });
const server = await serveSample(sampleSite({ bundles: 200 }));
const browser = new Chromium(program);
try {
  for (const picture of pictures()) {
    if (picture.name.includes(word)) await take(browser, server, picture);
  }
} finally {
  await browser.close();
  await server.close();
}
