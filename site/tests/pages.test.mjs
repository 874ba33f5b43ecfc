// The other pages in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, PAGES, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const SKIN = "document.documentElement.dataset.skin ?? ''";

describe("the pages beside the wall", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  const visits = visitsOfSuite(program);

  test("a style that was chosen is kept on every page and back on the wall", async () => {
    const { page, server } = await visits.visit(withMap(sampleSite({ bundles: 20 })));
    await page.evaluate(`(() => {
      const select = document.querySelector('#skin');
      select.value = 'firefox';
      select.dispatchEvent(new Event('change'));
    })()`);
    await page.until("the style", `${SKIN} === 'firefox'`);
    for (const path of Object.keys(PAGES).filter((name) => name !== "")) {
      // A script that runs later than this would change the style in view.
      await page.call("Page.addScriptToEvaluateOnNewDocument", {
        source: `new MutationObserver((_, observer) => {
          if (!document.body) return;
          window.skinAtFirst ??= ${SKIN};
          observer.disconnect();
        }).observe(document, { childList: true, subtree: true });`,
      });
      await page.open(server.url + path);
      await page.until(path, `location.pathname === '/${path}' && ${PAGES[path]}`);
      assert.equal(await page.evaluate("window.skinAtFirst"), "firefox", path);
    }
    await page.evaluate("document.querySelector('nav a').click()");
    await page.until("the wall", FILLED);
    assert.equal(await page.evaluate(SKIN), "firefox");
    assert.match(await page.evaluate("location.hash"), /^#seed=\d+&skin=firefox$/);
    assert.deepEqual(page.troubles, []);
  });

  test("a chosen style is kept by every link to the wall, in texts and on the map", async () => {
    const sample = withMap(sampleSite({ bundles: 20 }));
    const { hostname } = new URL(sample.bundle(3).entries[5].url);
    const links = { "404.html": "main a", [`map.html#site=${hostname}`]: "[data-part=wall]" };
    for (const [path, link] of Object.entries(links)) {
      const { page, server } = await visits.visit(sample, { hash: "#seed=7&skin=firefox" });
      await page.open(server.url + path);
      await page.until(`${link} on ${path}`,
        `document.querySelector('${link}')?.checkVisibility()`);
      await page.evaluate(`document.querySelector('${link}').click()`);
      await page.until("the wall", `location.pathname === '/' && ${FILLED}`);
      assert.equal(await page.evaluate(SKIN), "firefox", path);
      assert.match(await page.evaluate("location.hash"), /^#seed=\d+.*&skin=firefox$/);
    }
  });

  test("a style that was not chosen is shown on the pages but not in the address", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.evaluate("document.querySelector('nav a[href^=about]').click()");
    await page.until("the page", "location.pathname === '/about.html' && document.body");
    assert.equal(await page.evaluate(SKIN), "chrome");
    await page.evaluate("document.querySelector('nav a').click()");
    await page.until("the wall", FILLED);
    assert.doesNotMatch(await page.evaluate("location.hash"), /skin/);
  });

  test("all text of the charts has the size of text, on a phone too", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), {
      path: "stats.html",
      until: PAGES["stats.html"],
      view: { width: 320, height: 640, phone: true },
    });
    const small = await page.evaluate(`[...document.querySelectorAll('.chart *')]
      .filter((one) => [...one.childNodes].some(({ nodeType }) => nodeType === Node.TEXT_NODE))
      .filter((one) => one.closest('svg') || parseFloat(getComputedStyle(one).fontSize) < 14)
      .map((one) => one.textContent)`);
    assert.deepEqual(small, []);
    const bars = await page.evaluate(`[...document.querySelector('.bars').children]
      .map((item) => item.querySelector('.filled').getBoundingClientRect().width)`);
    assert.ok(bars.length > 3 && bars.every((px, i) => px > 0 && (i === 0 || px <= bars[i - 1])));
  });
});
