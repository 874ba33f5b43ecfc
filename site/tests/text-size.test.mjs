// The page with a larger text size in the browser's settings.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { MISPLACED, PAGES, Visits } from "./visit.mjs";

const program = findChromium();
const LARGER = 1.5;
const SIZES = `(() => {
  const size = (selector) => {
    const one = document.querySelector(selector);
    return [parseFloat(getComputedStyle(one).fontSize), one.getBoundingClientRect().height];
  };
  return ['.row .title', '.row', '.header .address', '.round', '.row .icon'].flatMap(size);
})()`;

describe("text of the visitor's size", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  let usual;
  let larger;
  before(() => {
    usual = new Visits(program);
    larger = new Visits(program, [`--blink-settings=defaultFontSize=${16 * LARGER}`]);
  });
  afterEach(() => Promise.all([usual.leave(), larger.leave()]));
  after(() => Promise.all([usual?.close(), larger?.close()]));

  test("tabs, rows and controls grow with the browser's text", async () => {
    const sizes = [];
    for (const visits of [usual, larger]) {
      const { page } = await visits.visit(sampleSite({ bundles: 20 }));
      sizes.push(await page.evaluate(SIZES));
    }
    const [before, now] = sizes;
    const grown = now.map((px, i) => px / before[i]);
    assert.ok(grown.every((by) => Math.abs(by - LARGER) < 0.1), `${before} ${now}`);
  });

  for (const [width, times] of [[320, 1], [390, LARGER], [1440, LARGER]]) {
    test(`nothing is cut or overlaps at ${width} px, text ${times} times as large`, async () => {
      const visits = times === 1 ? usual : larger;
      for (const [path, until] of Object.entries(PAGES)) {
        const view = { width, height: 800, phone: width < 600 };
        const { page } = await visits.visit(sampleSite({ bundles: 20 }), { view, path, until });
        const seen = await page.evaluate(MISPLACED);
        assert.deepEqual(seen, { wide: false, cut: [], over: 0 }, path);
        await visits.leave();
      }
    });
  }
});
