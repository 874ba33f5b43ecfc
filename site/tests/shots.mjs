// Takes screenshots of the page over the sample site: node shots.mjs FOLDER [WORD]. With WORD, only
// those whose name contains it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Chromium, findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const SETTLE_MS = 700;
const DOMAINS = ["com", "com", "com", "example", "org", "jp", "de", "xn--p1ai"];
const sample = withMap(sampleSite({ bundles: 400, domains: DOMAINS }), { landmarks: 200 });
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
const SCROLL = `new Promise((done) => {
  const step = (left) => {
    window.scrollBy(0, 300);
    if (left > 0) setTimeout(step, 250, left - 1);
    else setTimeout(done, 500);
  };
  step(8);
})`;
const FIND = `(() => {
  const input = document.querySelector('#find');
  input.focus();
  input.value = 'am';
  input.dispatchEvent(new Event('input'));
})()`;
const FIND_NEXT = `${FIND}; new Promise((resolve) => setTimeout(resolve, 500)).then(() =>
  document.querySelector('#find')
    .dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true })))`;

const CLOSE = `[...document.querySelectorAll('.row .tab[href]')]
  .filter((tab) => tab.getBoundingClientRect().top > 150).slice(0, 3).forEach((tab) => {
    tab.focus();
    tab.dispatchEvent(new KeyboardEvent('keydown', { key: 'Delete', bubbles: true }));
  })`;

const COLLAPSE = `[...document.querySelectorAll('.chip')].slice(1, 4)
  .forEach((chip) => chip.dispatchEvent(new MouseEvent('click', { bubbles: true })))`;

function* pictures() {
  const views = [
    { width: 360, height: 780, phone: true, scale: 2 },
    { width: 390, height: 844, phone: true, scale: 2 },
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
      yield shot("seen", { act: SCROLL });
      const ready = "document.readyState === 'complete'";
      yield shot("loading", { ready, without: "js/main.js" });
      yield shot("find", { act: FIND });
      yield shot("closed", { act: CLOSE });
      yield shot("groups", { act: COLLAPSE });
      yield shot("question", { act: `${CLOSE}; new Promise((done) => setTimeout(done, 900))
        .then(() => [...document.querySelectorAll('.closing-bar button')].at(-1).click())` });
      yield shot("keys", { act: "document.querySelector('#key-list').click()" });
      yield shot("emptied", { act: `${CLOSE}; new Promise((done) => setTimeout(done, 900))
        .then(() => [...document.querySelectorAll('.closing-bar button')].at(-1).click())
        .then(() => new Promise((done) => setTimeout(done, 400)))
        .then(() => document.querySelector('dialog[open] button:last-child').click())` });
      yield shot("dive", { act: "document.querySelector('#dive').click()" });
      if (!view.phone) yield shot("hover", { pointAt: [300, 122] });
      for (const page of ["stats", "about", "bot", "404"]) {
        yield shot(page, { path: `${page}.html`, ready: "document.readyState === 'complete'" });
      }
      const forced = { "forced-colors": "active" };
      const states = { wall: undefined, open: OPEN, find: FIND_NEXT, groups: COLLAPSE };
      for (const [what, act] of Object.entries(states)) {
        yield shot(`forced-${what}`, { act, media: forced });
      }
      yield* mapPictures(shot);
      yield* cardPictures(shot);
      yield shot("contrast", { act: OPEN, media: { "prefers-contrast": "more" } });
      if (view.width === 2560 || view.width === 768) continue;
      for (const name of ["edge", "firefox", "safari"]) yield shot(name, { act: skin(name) });
    }
  }
}

let missing = "";
const MAP_RESTS = "document.querySelector('#map').ariaBusy === 'false'";
const MAP = {
  path: "map.html", ready: `document.querySelector('#seen').textContent !== '' && ${MAP_RESTS}`,
};
const SITE = new URL(sample.bundle(210).entries.find(({ icon }, slot) => slot > 50 && icon).url);

function* mapPictures(shot) {
  yield shot("map-whole", MAP);
  yield shot("map-middle", { ...MAP, path: "map.html#110,110,6" });
  yield shot("map-near", { ...MAP, path: "map.html#110,110,27" });
  const card = {
    ...MAP,
    path: `map.html#site=${SITE.hostname}`,
    ready: `!document.querySelector('#tab-card').hidden && ${MAP_RESTS}`,
  };
  yield shot("map-card", card);
  yield shot("map-list", { ...card, act: "document.querySelector('#toggle').click()" });
  yield shot("map-nobody", {
    ...MAP,
    path: "map.html#site=nobody.example",
    ready: "document.querySelector('#message').textContent.includes('isn\'t here')",
  });
  yield shot("map-forced", { ...card, media: { "forced-colors": "active" } });
}

const AT_SITE = {
  path: `#seed=7&site=${SITE.hostname}`, ready: "document.querySelector('.share-bar')",
};

function* cardPictures(shot) {
  yield shot("found-bar", AT_SITE);
  const card = { ...AT_SITE, act: "document.querySelector('.share-bar button').click()" };
  yield shot("card-site", card);
  yield shot("card-forced", { ...card, media: { "forced-colors": "active" } });
  const close = `${CLOSE}; new Promise((done) => setTimeout(done, 900))`;
  yield shot("visit-closed", { act: `${SCROLL}.then(() => { ${CLOSE}; })
    .then(() => new Promise((done) => setTimeout(done, 900)))
    .then(() => document.querySelectorAll('.closing-bar button')[1].click())` });
  yield shot("visit-seen", { act: `${SCROLL}.then(() =>
    document.querySelector('.share-wall').click())` });
  yield shot("visit-all", { act: `${close}
    .then(() => [...document.querySelectorAll('.closing-bar button')].at(-1).click())
    .then(() => new Promise((done) => setTimeout(done, 400)))
    .then(() => document.querySelector('.question button:last-child').click())
    .then(() => new Promise((done) => setTimeout(done, 1200)))` });
  yield shot("card-map", { ...MAP, path: `map.html#site=${SITE.hostname}`,
    ready: `!document.querySelector('#tab-card').hidden && ${MAP_RESTS}`,
    act: "document.querySelector('#tab-card [data-part=card]').click()" });
}

const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

async function take(browser, server, picture) {
  const { name, view, scheme, media = {}, path = "#seed=7", ready = WALL } = picture;
  const { act, pointAt, without = "" } = picture;
  const page = await browser.page({ ...view, media: { "prefers-color-scheme": scheme, ...media } });
  // External names are not resolved here.
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
  missing = without;
  await page.open(server.url + path);
  await page.until(name, ready);
  await settle();
  if (act) {
    await page.evaluate(act);
    await settle();
  }
  if (pointAt) {
    await page.pointAt(...pointAt);
    await settle();
  }
  await page.screenshot(join(folder, `${name}.png`));
  for (const trouble of page.troubles) console.error(`${name} says: ${trouble}`);
  await browser.call("Target.closeTarget", { targetId: page.targetId });
}

mkdirSync(folder, { recursive: true });
const server = await serveSample(sample, {
  replace: (path) => (missing !== "" && path === missing ? { status: 404 } : null),
});
const browser = new Chromium(program);
try {
  for (const picture of pictures()) {
    if (picture.name.includes(word)) await take(browser, server, picture);
  }
} finally {
  await browser.close();
  await server.close();
}
