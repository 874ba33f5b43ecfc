// A tab while it is hovered and while its site loads, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { until } from "./patience.mjs";
import { sampleSite } from "./sample.mjs";
import { clickOn, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const STYLED = "[...document.styleSheets].some((one) => one.href?.endsWith('/interaction.css'))";

describe("a tab that is pointed at or opened", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const pointAt = async (page, selector) => {
    const at = await page.evaluate(`(() => {
      const tab = [...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => {
        const { top, left, right } = one.getBoundingClientRect();
        return top > 150 && left > 20 && right < innerWidth - 60;
      });
      const { left, top } = tab.getBoundingClientRect();
      return { x: left + 60, y: top + 15 };
    })()`);
    await page.pointAt(at.x, at.y);
    return `document.elementFromPoint(${at.x}, ${at.y}).closest('.tab')`;
  };

  test("the card shows the icon at four times its size, or not above 128 px", async () => {
    const sample = sampleSite({ bundles: 20 });
    const { page } = await visits.visit(sample);
    await page.until("the style", STYLED);
    for (const side of [16, 32]) {
      await page.evaluate(`document.querySelectorAll('.row .tab[href]').forEach((tab) =>
        tab.classList.toggle('aim', tab.querySelector('img').naturalWidth === ${side}))`);
      const tab = await pointAt(page, ".row .aim");
      await page.until(`the icon of ${side} px`, `(() => {
        const icon = document.querySelector('#card:not([hidden]) img');
        const box = icon?.getBoundingClientRect();
        return icon?.src === ${tab}.querySelector('img').src && box.width === ${4 * side} &&
          box.height === ${4 * side} && getComputedStyle(icon).imageRendering === 'pixelated';
      })()`);
    }
    await page.evaluate(`document.querySelectorAll('.row .tab[href]').forEach((tab) =>
      tab.classList.toggle('aim', tab.querySelector('img').hidden))`);
    await pointAt(page, ".row .aim");
    await page.until("a card without icon",
      "document.querySelector('#card:not([hidden]) .card-picture')?.hidden");
    assert.deepEqual(page.troubles, []);
  });

  test("tabs that open outside look like the others until they are pointed at", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.until("the style", STYLED);
    const looks = (tab) => `getComputedStyle(${tab}).backgroundImage`;
    const [inside, outside] = await page.evaluate(`['.tab[href]:not(.outside)', '.outside']
      .map((name) => document.querySelector('.row ' + name)).map((tab) => ${looks("tab")})`);
    assert.equal(outside, inside);
    const tab = await pointAt(page, ".row .outside:not(.active)");
    await page.until("the arrow", `${tab}.matches(':hover') && ${looks(tab)} !==
      ${JSON.stringify(inside)}`);
  });

  test("its tab has a spinner while a site loads, and a click on it loads nothing", async () => {
    let waiting = null;
    const requests = [];
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), {
      framesAreReal: true,
      prepare: async (of) => {
        of.on("Fetch.requestPaused", ({ requestId, request }) => {
          waiting = requestId;
          requests.push(request.url);
        });
        await of.call("Fetch.enable", { patterns: [{ urlPattern: "https://*" }] });
      },
    });
    await clickOn(page, ".row .tab[href]:not(.outside)");
    const spinner = `(() => {
      const tab = document.querySelector('.row .tab.opened');
      return tab && getComputedStyle(tab, '::after').animationName;
    })()`;
    await page.until("the spinner", `${spinner} === 'spin'`);
    await until("the frame's request for its site", () => waiting !== null);
    await page.call("Fetch.fulfillRequest", { requestId: waiting, responseCode: 200 });
    await page.until("its end", `${spinner} !== 'spin' &&
      document.querySelector('#site').dataset.state === 'shown' &&
      !document.querySelector('#wall.making-room')`);
    await page.evaluate("document.querySelector('iframe').dataset.first = ''");
    await clickOn(page, ".row .tab.opened");
    assert.equal(await page.evaluate("document.querySelector('iframe').dataset.first"), "");
    assert.equal(requests.length, 1);
    await page.key("Escape");
    await page.until("closed", "document.querySelectorAll('.row .opened').length === 0");
  });

  test("an open site follows the window's height", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
    await page.resize(1280, 420);
    await page.until("a lower site", `innerHeight === 420 &&
      document.querySelector('#site').getBoundingClientRect().height <= 320`);
    const gap = await page.until("rows around it", `(() => {
      const site = document.querySelector('#site').getBoundingClientRect();
      const tops = [...document.querySelectorAll('.row:not([hidden])')]
        .map((row) => Math.round(row.getBoundingClientRect().top));
      return tops.includes(Math.round(site.bottom)) && tops.every((top) =>
        top < site.top || top >= Math.round(site.bottom));
    })()`);
    assert.equal(gap, true);
  });

  test("an open site can be used in a window of 320 pixels, zoomed to 400 %", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), {
      view: { width: 341, height: 192, scale: 4 },
    });
    await page.evaluate("document.querySelector('.row .tab[href]:not(.outside)').click()");
    await page.until("the site", `document.querySelector('#site').dataset.state === 'shown' &&
      !document.querySelector('#wall.making-room')`);
    const boxes = `(() => {
      const box = (element) => {
        const { top, bottom, height } = element.getBoundingClientRect();
        return { top: Math.round(top), bottom: Math.round(bottom), height };
      };
      return {
        site: box(document.querySelector('#site')),
        page: box(document.querySelector('#site iframe')),
        rows: [...document.querySelectorAll('.row:not([hidden])')].map(box),
      };
    })()`;
    for (const height of [192, 160, 110]) {
      await page.resize(341, height, false, 4);
      await page.until("the window", `innerHeight === ${height}`);
      const { site, page: framed, rows } = await page.until("rows around it", `(() => {
        const { site, page, rows } = ${boxes};
        return rows.every(({ top, bottom }) => bottom <= site.top + 1 || top >= site.bottom - 1) &&
          rows.some(({ top }) => Math.abs(top - site.bottom) <= 1) && { site, page, rows };
      })()`);
      const seen = JSON.stringify({ site, framed, rows });
      assert.ok(framed.height >= 100 && framed.bottom <= site.bottom, seen);
      const tops = rows.map(({ top }) => top);
      assert.equal(new Set(tops).size, tops.length, seen);
    }
  });
});
