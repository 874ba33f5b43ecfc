// Details that make tabs look like those in browsers, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const SKINS = ["chrome", "edge", "firefox", "safari"];
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const LEAST_TARGET_PX = 44;

describe("the styles of the browsers", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  const visits = visitsOfSuite(program);

  const visit = (skin, view = {}) =>
    visits.visit(sampleSite({ bundles: 20 }), { hash: `#seed=7&skin=${skin}`, view });

  for (const skin of SKINS) {
    test(`a phone's card shows the host, and only the open one is marked: ${skin}`, async () => {
      const { page } = await visit(skin, PHONE);
      const cards = JSON.parse(await page.evaluate(`JSON.stringify(
        [...document.querySelectorAll('.row:not([hidden]) .tab[href]')].map((tab) => ({
          host: new URL(tab.href).hostname.replace('www.', ''),
          below: getComputedStyle(tab, '::before').content,
          look: ['backgroundColor', 'boxShadow', 'borderRadius', 'color']
            .map((name) => getComputedStyle(tab)[name]).join(),
        })))`));
      assert.ok(cards.length > 20);
      for (const { host, below } of cards) assert.equal(below, JSON.stringify(host));
      assert.equal(new Set(cards.map(({ look }) => look)).size, 1);
      await page.evaluate("document.querySelector('.row .tab[href]:not(.outside)').click()");
      await page.until("a site", "document.querySelector('#site').dataset.state === 'shown'");
      const shadow = "getComputedStyle(document.querySelector('.row .tab.opened')).boxShadow";
      assert.match(await page.evaluate(shadow), /inset/);
      const targets = await page.evaluate(`[...document.querySelectorAll('#site .round')]
        .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect())
        .map(({ width, height }) => Math.min(width, height))`);
      assert.ok(targets.length >= 2 && targets.every((px) => px >= LEAST_TARGET_PX), `${targets}`);
    });
  }

  test("a phone's card never shows Punycode first", async () => {
    const plain = sampleSite({ bundles: 60 });
    const sample = {
      ...plain,
      bundle: (number) => ({
        entries: plain.bundle(number).entries.map((entry, at) =>
          (at % 5 > 0 ? entry : { ...entry, url: "https://xn--bcher-kva.example/" })),
      }),
    };
    const { page } = await visits.visit(sample, { view: PHONE });
    await page.evaluate(`(() => {
      window.hosts = new Set();
      new MutationObserver((changes) => {
        for (const { target } of changes) window.hosts.add(target.dataset.host);
      }).observe(document.querySelector('#wall'), {
        subtree: true, attributes: true, attributeFilter: ['data-host'],
      });
    })()`);
    for (let step = 0; step < 4; step += 1) await scrollBy(page, 400);
    await page.until("a name in its own script", "window.hosts.has('bücher.example')");
    assert.equal(await page.evaluate("window.hosts.has('xn--bcher-kva.example')"), false);
  });

  test("Safari's active tab is a capsule", async () => {
    const { page } = await visit("safari");
    const [radius, height] = await page.evaluate(`(() => {
      const tab = document.querySelector('.row .tab.active');
      return [parseFloat(getComputedStyle(tab).borderRadius), tab.getBoundingClientRect().height];
    })()`);
    assert.ok(radius >= height / 2, `${radius} of ${height}`);
  });

  test("every tab of the header has an icon, and is no wider than its words need", async () => {
    const { page } = await visit("chrome");
    await page.until("tabs", FILLED);
    const tabs = JSON.parse(await page.evaluate(`JSON.stringify(
      [...document.querySelectorAll('.strip .tab')].filter((tab) => tab.checkVisibility())
        .map((tab) => {
          const range = document.createRange();
          range.selectNodeContents(tab.querySelector('.title'));
          return {
            hasIcon: Boolean(tab.querySelector('svg')) ||
              getComputedStyle(tab, '::after').backgroundImage.startsWith('url'),
            restPx: tab.getBoundingClientRect().right - range.getBoundingClientRect().right,
          };
        }))`));
    assert.ok(tabs.length >= 4);
    for (const { hasIcon, restPx } of tabs) assert.ok(hasIcon && restPx < 30, `${restPx}`);
  });
});
