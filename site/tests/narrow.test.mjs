// The pages on a small phone and at a zoom of 400 % in a window of 1280 pixels: no label is cut or
// covered, and nothing needs sideways scrolling.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, PAGES, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const CRAWL = fileURLToPath(new URL("../crawl/", import.meta.url));
const CALM = { "prefers-reduced-motion": "reduce" };
const VIEWS = {
  "320 px": { width: 320, height: 640, phone: true, media: CALM },
  "360 px": { width: 360, height: 780, phone: true, media: CALM },
  "400 %": { width: 320, height: 256, scale: 4, media: CALM },
};
const press = (key) => `document.activeElement.dispatchEvent(
  new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true }))`;
const STATES = {
  "": [
    [`(() => {
      const input = document.querySelector('#find');
      input.focus();
      input.value = 'nobody-is-called-so';
      input.dispatchEvent(new Event('input'));
    })()`, "document.querySelector('#found-status.words')"],
    ["document.querySelector('.row .tab[href]:not(.outside)').click()",
      "document.querySelector('#site').dataset.state === 'shown'"],
    ["location.hash = '#site=nobody.example'",
      `document.querySelector('#notice').textContent !== '' && ${FILLED}`],
    [`document.querySelectorAll('.row .tab[href]')[9].focus(); ${press("Delete")}`,
      "document.querySelector('.closing-bar:not([hidden])')"],
    ["[...document.querySelectorAll('.closing-bar button')].at(-1).click()",
      "document.querySelector('dialog[open]')"],
    ["document.querySelector('dialog[open] button:last-child').click()",
      "document.querySelector('.wall.all-closed')"],
  ],
  "map.html": [
    ["document.querySelector('#toggle').click()", "document.querySelector('.side.open')"],
    ["location.hash = '#site=nobody.example'",
      "document.querySelector('#message').textContent.includes('nobody')"],
  ],
  "crawl.html": [
    ["document.querySelectorAll('[hidden]').forEach((one) => (one.hidden = false))",
      "document.querySelector('#start-form').checkVisibility()"],
  ],
};

/** What websites call themselves may be cut. */
const FAULTS = `(() => {
  const strangers = '.row, .choices li, .host, .unseen, .tabs, [data-part=title], iframe';
  const layers = '.header, .notice, .closing-bar, dialog, .site, .zoom, .state, .tab-card, ' +
    '.no-tabs, .side, .choices-status';
  const isCut = (part, { left, right, top, bottom }) =>
    part.right > left + 1 && part.left < right - 1 &&
    part.bottom > top + 1 && part.top < bottom - 1 &&
    (part.left < left - 1 || part.right > right + 1 ||
      part.top < top - 3 || part.bottom > bottom + 3);
  const around = (one) => {
    const boxes = [];
    for (let at = one; at && at !== document.body; at = at.parentElement) {
      const { overflowX, position } = getComputedStyle(at);
      if (/hidden|clip/.test(overflowX)) boxes.push(at.getBoundingClientRect());
      if (/auto|scroll/.test(overflowX) || position === 'fixed') return boxes;
    }
    return [...boxes, { left: 0, right: innerWidth, top: -Infinity, bottom: Infinity }];
  };
  const drawing = document.createElement('canvas').getContext('2d');
  const cut = [];
  const parts = [];
  for (const one of document.body.querySelectorAll('*')) {
    const isControl = one.matches('button, input, select, textarea');
    if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) ||
      one.closest(strangers)) continue;
    const texts = [...one.childNodes].filter(({ nodeType, data }) => nodeType === 3 && data.trim());
    const boxes = texts.flatMap((text) => {
      const range = document.createRange();
      range.selectNodeContents(text);
      return [...range.getClientRects()].filter(({ width }) => width > 0);
    });
    const bounds = around(one);
    if (boxes.some((box) => bounds.some((bound) => isCut(box, bound)))) {
      cut.push(one.tagName + ' ' + one.textContent.slice(0, 40));
    }
    if (one.placeholder) {
      drawing.font = getComputedStyle(one, '::placeholder').font;
      const style = getComputedStyle(one);
      const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      if (drawing.measureText(one.placeholder).width > room) cut.push(one.placeholder);
    }
    if (isControl) boxes.push(one.getBoundingClientRect());
    const layer = one.closest(layers);
    for (const box of boxes) {
      const isSeen = bounds.every(({ left, right, top, bottom }) => box.right > left + 1 &&
        box.left < right - 1 && box.bottom > top + 1 && box.top < bottom - 1);
      if (isSeen) parts.push({ one, box, layer });
    }
  }
  const over = [];
  parts.forEach(({ one, box, layer }, i) => parts.slice(i + 1).forEach((other) => {
    if (other.layer !== layer || one.contains(other.one) || other.one.contains(one)) return;
    const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
    const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
    if (wide > 1 && high > 3) over.push(one.textContent.slice(0, 20) + ' / ' +
      (other.one.textContent || other.one.id).slice(0, 20));
  }));
  const { scrollWidth, clientWidth } = document.documentElement;
  return { wide: Math.max(0, scrollWidth - clientWidth), cut, over };
})()`;
const FAULTLESS = { wide: 0, cut: [], over: [] };

/** The published site does not contain the crawl service's page. */
function crawlPage(path) {
  if (path === "crawl.html") return { status: 200, body: readFileSync(`${CRAWL}index.html`) };
  if (!/^page\/[a-z]+\.(?:js|css)$/.test(path)) return null;
  return { status: 200, body: readFileSync(CRAWL + path.slice("page/".length)) };
}

describe("the pages in a narrow window", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  const visits = visitsOfSuite(program);
  const pages = { ...PAGES, "crawl.html": "document.querySelector('#asking').checkVisibility()" };

  for (const [name, view] of Object.entries(VIEWS)) {
    for (const [path, until] of Object.entries(pages)) {
      test(`no label is cut or covered on ${path || "the wall"} at ${name}`, async () => {
        const sample = withMap(sampleSite({ bundles: 20 }));
        const { page } = await visits.visit(sample, { view, path, until, replace: crawlPage });
        assert.deepEqual(await page.evaluate(FAULTS), FAULTLESS);
        for (const [act, isThere] of STATES[path] ?? []) {
          await page.evaluate(act);
          await page.until(isThere, isThere);
          assert.deepEqual(await page.evaluate(FAULTS), FAULTLESS, isThere);
        }
      });
    }
  }
});

const CHARACTERS = `[...document.querySelectorAll('.row:not([hidden]) .tab[href] .title')]
  .filter((title) => title.firstChild).map((title) => {
    const box = title.getBoundingClientRect();
    const range = document.createRange();
    const characters = [...new Intl.Segmenter().segment(title.textContent)];
    const shown = characters.filter(({ segment, index }) => {
      range.setStart(title.firstChild, index);
      range.setEnd(title.firstChild, index + segment.length);
      const { left, right, bottom } = range.getBoundingClientRect();
      return left >= box.left - 1 && right <= box.right + 1 && bottom <= box.bottom + 2;
    }).length;
    const isCut = shown < characters.length;
    // The ellipsis takes the place of a character.
    return { all: characters.length, shown: isCut ? shown - 1 : shown };
  })`;
const CLOSED = "document.querySelector('.closing-bar:not([hidden])')";
const OPENED = "document.querySelector('#site').dataset.state === 'shown'";

describe("tabs on a phone", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  const visits = visitsOfSuite(program);

  for (const width of [360, 390, 412]) {
    test(`two tabs a row, and nine of ten titles show 12 characters at ${width} px`, async () => {
      const view = { width, height: 780, phone: true, media: CALM };
      const { page } = await visits.visit(sampleSite({ bundles: 20 }), { view });
      const tabPx = await page.evaluate("document.querySelector('.row .tab').offsetWidth");
      assert.ok(2 * tabPx >= width, `${tabPx} px`);
      const titles = await page.evaluate(CHARACTERS);
      const read = titles.filter(({ all, shown }) => shown >= Math.min(12, all));
      assert.ok(titles.length > 30 && read.length >= 0.9 * titles.length,
        `${read.length} of ${titles.length}`);
    });
  }

  test("a tap on a title's end, or above the cross, opens; one on the cross closes", async () => {
    const view = { width: 360, height: 780, phone: true, media: CALM };
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), { view });
    await page.until("interaction.js", "document.querySelector('link[rel=manifest]')");
    const { end, above, cross } = await page.evaluate(`(() => {
      const tab = [...document.querySelectorAll('.row:not(.has-group) .tab[href]:not(.outside)')]
        .find((one) => {
          const { left, right, top } = one.getBoundingClientRect();
          return left >= 0 && right <= innerWidth && top > 200 &&
            one.querySelector('.title').offsetHeight > 30;
        });
      const { right, top, height } = tab.getBoundingClientRect();
      const title = tab.querySelector('.title').getBoundingClientRect();
      const y = top + height / 2;
      return {
        end: [title.right - 1, y], above: [right - 20, y - 20], cross: [right - 20, y],
      };
    })()`);
    for (const at of [end, above]) {
      await page.click(...at);
      await page.until("the site", OPENED);
      assert.equal(await page.evaluate(CLOSED), null);
      await page.evaluate("document.querySelector('[data-part=close]').click()");
      await page.until("no site", "document.querySelector('#site').hidden");
    }
    await page.click(...cross);
    await page.until("a closed tab", CLOSED);
  });
});
