// How the page describes itself before it has tabs, and what remains when files fail to load.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, FILLED, PAINTED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const MOTTO = "Every website on the internet, one tab each";
const BAR = `[...document.querySelectorAll('#bar p')].filter((one) => {
  const box = one.getBoundingClientRect();
  const bar = document.querySelector('#bar').getBoundingClientRect();
  return box.width > 0 && box.bottom <= bar.bottom + 1 && box.right <= innerWidth;
}).map((one) => one.textContent.trim())`;
const HREFS =
  "JSON.stringify([...document.querySelectorAll('.row .tab[href]')].map(String).sort())";

describe("the first look at the page", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const sample = sampleSite({ bundles: 40 });
  const message = (page) => page.evaluate("document.querySelector('#message').textContent");

  for (const width of [320, 390, 768, 1_440, 2_560]) {
    test(`one line says what it is at ${width} px, before any script runs`, async () => {
      const view = { width, height: 800, phone: width < 700 };
      const { page } = await visits.visit(sample, {
        view, until: "document.readyState !== 'loading'", replace: (path) =>
          (path.endsWith(".js") ? { status: 404 } : null),
      });
      assert.ok((await page.evaluate(BAR)).includes(MOTTO));
      const lines = await page.evaluate(`document.querySelector('.motto').getClientRects().length`);
      assert.equal(lines, 1);
    });
  }

  test("the number of tabs is beside it, and the crawl is not", async () => {
    for (const view of [{}, { width: 390, height: 844, phone: true, scale: 2 }]) {
      const { page } = await visits.visit(sample, { view });
      assert.deepEqual(await page.evaluate(BAR), [MOTTO, "4,800 so far"]);
      assert.equal(await page.evaluate("document.body.innerText.includes('CC-MAIN')"), false);
    }
    const full = { ...sample, manifest: { ...sample.manifest, hosts: 30_104_233 } };
    const { page } = await visits.visit(full);
    assert.deepEqual(await page.evaluate(BAR), [MOTTO, "30,104,233 tabs"]);
  });

  test("what is loading is said inside the view, and ends with the first tabs", async () => {
    const words = `(() => {
      const style = getComputedStyle(document.querySelector('#wall'), '::after');
      return [style.content, parseFloat(style.top) < innerHeight - 150];
    })()`;
    let late = true;
    const { page } = await visits.visit(sample, {
      until: "document.querySelector('#facts').textContent !== ''",
      replace: (path) => (late && path.includes("/tabs/") ? "drop" : null),
    });
    await page.until("the failure", "!document.querySelector('#retry').hidden");
    assert.equal((await page.evaluate(words))[0], "none", "what failed is said instead");
    late = false;
    await page.evaluate("document.querySelector('#retry').click()");
    await page.until("tabs", PAINTED);
    assert.equal((await page.evaluate(words))[0], "none");
    const slow = await visits.visit(sample, {
      until: "document.readyState === 'complete'",
      late: { "js/main.js": 3_000 },
    });
    assert.deepEqual(await slow.page.evaluate(words), ["\"Opening tabs…\"", true]);
  });

  test("Shuffle without a network keeps the tabs, says so, and goes on after it", async () => {
    let down = false;
    const { page } = await visits.visit(sample, { replace: () => (down ? "drop" : null) });
    await scrollBy(page, 500);
    await atRest(page);
    const [before, place] = await page.evaluate(`[${HREFS}, scrollY]`);
    down = true;
    await page.evaluate("document.querySelector('#shuffle').click()");
    await page.until("the words", "!document.querySelector('#retry').hidden");
    assert.match(await message(page), /network isn't responding/);
    assert.deepEqual(await page.evaluate(`[${HREFS}, scrollY]`), [before, place]);
    await page.evaluate("document.querySelector('#retry').click()");
    await page.until("the words again", "!document.querySelector('#retry').hidden");
    assert.deepEqual(await page.evaluate(`[${HREFS}, scrollY]`), [before, place]);
    await page.back();
    await page.until("the former address", "/^#seed=7(?:&|$)/.test(location.hash)");
    await page.until("no words of trouble", "document.querySelector('#retry').hidden");
    assert.deepEqual(await page.evaluate(`[${HREFS}, scrollY]`), [before, place]);
    await page.evaluate("document.querySelector('#shuffle').click()");
    await page.until("the words", "!document.querySelector('#retry').hidden");
    down = false;
    await page.evaluate("document.querySelector('#retry').click()");
    await page.until("other tabs", `${FILLED} && scrollY === 0 && ${HREFS} !== '${before}'`);
    assert.deepEqual(page.troubles.filter((one) => !/Failed to load|net::/.test(one)), []);
  });
});
