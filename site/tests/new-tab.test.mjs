// The "+" in a row and in the header, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const READY = `${FILLED} &&
  [...document.styleSheets].some((one) => one.href?.endsWith('/interaction.css'))`;
const CALM = { media: { "prefers-reduced-motion": "reduce" } };
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const ROW = 4;
const COUNT_TIMERS = `(() => {
  const { setTimeout, clearTimeout } = window;
  const pending = (window.pendingTimers = new Set());
  window.setTimeout = (act, ms) => {
    const timer = setTimeout(() => {
      try {
        act();
      } finally {
        pending.delete(timer);
      }
    }, ms);
    pending.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => {
    pending.delete(timer);
    clearTimeout(timer);
  };
})()`;
const IS_IN_FIELD = "document.activeElement.id === 'find'";

describe("the + for a new tab", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const clickOnPlus = async (page) => {
    // Without motion, the last tab is beyond the right edge, so the row must be dragged.
    const at = await page.evaluate(`(() => {
      const row = document.querySelectorAll('.row')[${ROW}];
      return { x: 1_000, y: row.getBoundingClientRect().top + 20 };
    })()`);
    await page.pointAt(at.x, at.y);
    await page.call("Input.dispatchMouseEvent",
      { type: "mouseWheel", ...at, deltaX: 700, deltaY: 0 });
    const plus = await page.until("the +", `(() => {
      const row = document.querySelectorAll('.row')[${ROW}];
      const track = row.querySelector('.track').getBoundingClientRect();
      const last = [...row.querySelectorAll('.tab:not([hidden])')].at(-1).getBoundingClientRect();
      const { transform } = getComputedStyle(row.querySelector('.track'), '::after');
      const left = track.left + new DOMMatrix(transform).e;
      return last.right > 100 && last.right < 1_100 && Math.abs(left - last.right) < 1 &&
        { x: left + 17, y: last.top + 15 };
    })()`);
    await page.pointAt(plus.x, plus.y);
    await page.click(plus.x, plus.y);
  };

  test("a row has it behind its last tab, and it leads to the search field", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 40 }), { view: CALM, until: READY });
    const nodes = await page.evaluate("document.querySelectorAll('.row *').length");
    await clickOnPlus(page);
    await page.until("the field", IS_IN_FIELD);
    assert.equal(await page.evaluate("document.querySelector('#site').hidden"), true);
    assert.equal(await page.evaluate("document.querySelectorAll('.row *').length"), nodes);
    await page.evaluate("document.activeElement.blur()");
    await page.evaluate("document.querySelector('#header .plus').click()");
    await page.until("the field", IS_IN_FIELD);
    assert.deepEqual(page.troubles, []);
  });

  test("while a site is open it leads to the search field, too", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 40 }), { view: CALM, until: READY });
    await page.evaluate(`document.querySelectorAll('.row')[${ROW}]
      .querySelector('.tab[href]:not(.outside)').click()`);
    await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
    await clickOnPlus(page);
    await page.until("the field", IS_IN_FIELD);
    assert.equal(await page.evaluate("document.querySelector('#site').hidden"), false);
    assert.deepEqual(page.troubles, []);
  });

  // A former version never stopped the timers for the rows' "+" and for still rows.
  for (const [name, view, most] of [
    ["with motion one timer runs", {}, 1],
    ["without motion no timer runs", CALM, 0],
    ["on a phone without motion no timer runs", { ...PHONE, ...CALM }, 0],
  ]) {
    test(`when nothing happens, ${name}`, async () => {
      const prepare = (page) => page.call("Page.addScriptToEvaluateOnNewDocument",
        { source: COUNT_TIMERS });
      const { page } = await visits.visit(sampleSite({ bundles: 40 }),
        { view, until: READY, prepare });
      await page.until("rest", `window.pendingTimers.size <= ${most}`);
      assert.deepEqual(page.troubles, []);
    });
  }

  test("rows of a phone have none", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 40 }), { view: PHONE, until: READY });
    assert.equal(await page.evaluate(
      "getComputedStyle(document.querySelector('.track'), '::after').content"), "none");
  });
});
