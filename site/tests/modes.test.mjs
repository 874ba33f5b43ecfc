// Forced colours, more contrast and print, in a real browser: every state and edge must be visible.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const STYLED = `${FILLED} && [...document.styleSheets].some(({ href }) => /modes/.test(href))`;
const OPEN = "document.querySelector('.row .tab[href]:not(.outside)').click()";
const IS_OPEN = "document.querySelector('#site').dataset.state === 'shown'";
const lookOf = (selector) => `(() => {
  const style = getComputedStyle(document.querySelector(${JSON.stringify(selector)}));
  return [style.backgroundColor, style.color, parseFloat(style.borderTopWidth) > 0];
})()`;
const hasEdge = async (page, selector) => (await page.evaluate(lookOf(selector)))[2];

describe("colours that the visitor sets, and paper", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  const visits = visitsOfSuite(program);

  const visit = (media, view = {}) =>
    visits.visit(sampleSite({ bundles: 40 }), { view: { media, ...view }, until: STYLED });

  for (const scheme of ["light", "dark"]) {
    const media = {
      "forced-colors": "active", "prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce",
    };
    test(`forced colours (${scheme}) show which suggestion is chosen, and every edge`, async () => {
      const { page } = await visit(media);
      for (const selector of [".header .address", "#shuffle", "#skin"]) {
        assert.ok(await hasEdge(page, selector), selector);
      }
      await page.evaluate("document.querySelector('#find').focus()");
      await page.call("Input.insertText", { text: "am" });
      await page.until("names", "document.querySelectorAll('#found [role=option]').length > 3");
      await page.key("ArrowDown");
      await page.until("a choice", "document.querySelector('#found [aria-selected=true]')");
      assert.ok(await hasEdge(page, "#found"));
      const [chosen, ink] = await page.evaluate(lookOf("#found [aria-selected=true]"));
      const [other] = await page.evaluate(lookOf("#found [aria-selected=false]"));
      assert.notEqual(chosen, other);
      assert.notEqual(chosen, ink);
      assert.deepEqual(page.troubles, []);
    });

    test(`forced colours (${scheme}) show the active, the found and the open tab`, async () => {
      const { page } = await visit(media);
      assert.ok(await hasEdge(page, ".row .tab.active"));
      assert.ok(!await hasEdge(page, ".row .tab:not(.active)"));
      assert.equal(await page.evaluate("getComputedStyle(wall).backgroundImage"), "none");
      await page.evaluate(OPEN);
      await page.until("a site", IS_OPEN);
      for (const selector of ["#site", "#site .address", "#site .out", "[data-part=copy]"]) {
        assert.ok(await hasEdge(page, selector), selector);
      }
      const host = await page.evaluate(
        "new URL(document.querySelector('.row .tab.outside[href]').href).hostname");
      await page.evaluate(`location.hash = '#site=${host}'`);
      await page.until("the tab", "document.querySelector('.row .tab.found')");
      const [found, ink] = await page.evaluate(lookOf(".row .tab.found"));
      const [other] = await page.evaluate(lookOf(".row .tab:not(.found)"));
      assert.notEqual(found, other);
      assert.notEqual(found, ink);
    });
  }

  test("more contrast gives text its full colour and fields an edge", async () => {
    for (const [scheme, ink] of [["light", "rgb(0, 0, 0)"], ["dark", "rgb(255, 255, 255)"]]) {
      const { page } = await visit({ "prefers-contrast": "more", "prefers-color-scheme": scheme });
      assert.equal((await page.evaluate(lookOf(".row .tab:not(.active)")))[1], ink);
      assert.equal((await page.evaluate(lookOf(".facts")))[1], ink);
      for (const selector of [".header .address", "#motion", ".row .tab.active"]) {
        assert.ok(await hasEdge(page, selector), selector);
      }
    }
  });

  test("a wall is printed on one page, from wherever it was scrolled to", async () => {
    const { page } = await visit({});
    for (let step = 0; step < 8; step += 1) await scrollBy(page, 700);
    await page.until("tabs", "!document.querySelector('.row:not([hidden]) .coming:not([hidden])')");
    assert.equal(await printedPages(page), 1);
    await page.call("Emulation.setEmulatedMedia", { media: "print" });
    const seen = await page.evaluate(`(() => {
      const paper = document.querySelector('#wall').getBoundingClientRect();
      const rows = [...document.querySelectorAll('.row:not([hidden])')]
        .map((row) => row.getBoundingClientRect());
      return rows.filter(({ top, bottom }) => top >= paper.top && bottom <= paper.bottom).length;
    })()`);
    assert.ok(seen >= 10, `${seen} rows`);
  });
});

async function printedPages(page) {
  const { data } = await page.call("Page.printToPDF", { paperWidth: 8.27, paperHeight: 11.7 });
  return Buffer.from(data, "base64").toString("latin1").match(/\/Type\s*\/Page\b/g).length;
}
