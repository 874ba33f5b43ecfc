// Closing all tabs while a site is open, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const IS_EMPTY = "document.querySelector('#wall').inert";
const IS_OPEN = "!document.querySelector('#site').hidden";
const QUESTION = "document.querySelector('dialog[open]')";

describe("closing all tabs while a site is open", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const visit = async (media = {}) => {
    const { page } = await visits.visit(sampleSite({ bundles: 40 }), { view: { media } });
    await page.evaluate("document.querySelector('.row .tab[tabindex=\"0\"]').focus()");
    await page.key("Delete");
    await page.until("the bar", "document.querySelector('.closing-bar:not([hidden])')");
    // A mouse click could hit a cross, because tabs move after a closing.
    await page.evaluate(`document.querySelector('.row .tab[href]:not(.outside, [hidden])')
      .click()`);
    await page.until("the site", `document.querySelector('#site').dataset.state === 'shown' &&
      !document.querySelector('#wall.making-room')`);
    return page;
  };
  const ask = async (page) => {
    await page.evaluate("[...document.querySelectorAll('.closing-bar button')].at(-1).click()");
    await page.until("the question", QUESTION);
  };
  /** At the left edge of the element's middle, where there is no button. */
  const clickAt = async (page, selector, byPx = 3) => {
    const at = await page.evaluate(`(() => {
      const box = document.querySelector('${selector}').getBoundingClientRect();
      return { x: box.left + ${byPx}, y: box.top + box.height / 2 };
    })()`);
    await page.click(at.x, at.y);
  };

  for (const media of [{}, { "prefers-reduced-motion": "reduce" }]) {
    const name = Object.values(media).length > 0 ? "with less motion" : "with motion";
    test(`the wall is empty and stays so until it is opened again, ${name}`, async () => {
      const page = await visit(media);
      await page.evaluate(`window.addEventListener('popstate', () =>
        setTimeout(() => (window.isBack = true), 50))`);
      await ask(page);
      await page.evaluate("document.querySelector('dialog button:last-child').click()");
      await page.until("the step before the site", "window.isBack");
      await page.until("the empty wall", IS_EMPTY);
      assert.equal(await page.evaluate(IS_OPEN), false);
      assert.ok(!(await page.evaluate("location.hash")).includes("open"));
      assert.ok(await page.evaluate(
        "document.activeElement === document.querySelector('.no-tabs button')"));
      await page.evaluate("window.scrollBy(0, 300)");
      await page.evaluate("new Promise((done) => setTimeout(done, 300))");
      assert.equal(await page.evaluate(IS_EMPTY), true);
      await page.evaluate("document.querySelector('.no-tabs button').click()");
      await page.until("all tabs", `!${IS_EMPTY}`);
      assert.deepEqual(page.troubles, []);
    });
  }

  test("the question and the bar leave the site open, however they are left", async () => {
    const page = await visit();
    await ask(page);
    await clickAt(page, ".question h2");
    assert.deepEqual(await page.evaluate(`[Boolean(${QUESTION}), ${IS_OPEN}]`), [true, true]);
    await clickAt(page, ".question", -40);
    assert.deepEqual(await page.evaluate(`[Boolean(${QUESTION}), ${IS_OPEN}]`), [true, true]);
    await page.key("Escape");
    await page.until("no question", `!${QUESTION}`);
    assert.equal(await page.evaluate(IS_OPEN), true);
    await clickAt(page, ".closing-bar p");
    assert.equal(await page.evaluate(IS_OPEN), true);
    await page.key("Escape");
    await page.until("the wall", `!(${IS_OPEN})`);
    assert.deepEqual(page.troubles, []);
  });
});
