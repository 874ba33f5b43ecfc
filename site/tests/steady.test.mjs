// Parts that must keep their screen position, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { MAX_WALL_PX } from "../js/layout.js";
import { sampleSite } from "./sample.mjs";
import { atRest, clickOn, PAINTED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const OPEN = `document.querySelector('#site').dataset.state === 'shown' &&
  !document.querySelector('#wall.making-room')`;
const NO_GAPS = "!document.querySelector('.row:not([hidden]) .coming:not([hidden])')";
const TOPS = `Object.fromEntries([...document.querySelectorAll('.row:not([hidden])')]
  .map((row) => [row.querySelector('.tab').href, Math.round(row.getBoundingClientRect().top)])
  .filter(([, top]) => top > 50 && top < innerHeight))`;
const FIRST_ROW = `(() => {
  const edge = document.querySelector('#header').getBoundingClientRect().bottom;
  const rows = [...document.querySelectorAll('.row:not([hidden])')]
    .map((row) => ({ row, top: row.getBoundingClientRect().top }))
    .sort((a, b) => a.top - b.top);
  const { row, top } = rows.find((one) => one.top >= edge - 1);
  return { hrefs: [...row.querySelectorAll('.tab[href]')].map(String), top: Math.round(top) };
})()`;
const topOf = (href) => `(() => {
  const tab = [...document.querySelectorAll('.row:not([hidden]) .tab[href]')]
    .find((one) => String(one) === ${JSON.stringify(href)});
  return tab ? Math.round(tab.closest('.row').getBoundingClientRect().top) : null;
})()`;

describe("what stays where it is", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const sample = sampleSite({ bundles: 80 });

  async function openSite(view = {}) {
    const { page } = await visits.visit(sample, { view });
    await scrollBy(page, 1_500);
    await page.until("tabs", NO_GAPS);
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the site", OPEN);
    return page;
  }

  function assertSame(before, after, least) {
    const both = Object.keys(before).filter((href) => href in after);
    assert.ok(both.length >= least, `${both.length} rows are seen before and after`);
    for (const href of both) {
      const shift = after[href] - before[href];
      assert.ok(Math.abs(shift) <= 1, `${href} at ${before[href]} moved by ${shift}`);
    }
  }

  test("rows below a site that begins above the view stay when it is closed", async () => {
    const page = await openSite();
    await scrollBy(page, 300);
    const seen = await page.evaluate(TOPS);
    await page.evaluate("document.querySelector('[data-part=close]').click()");
    await page.until("closed", `document.querySelector('#site').hidden &&
      !document.querySelector('#wall.making-room')`);
    assertSame(seen, await page.evaluate(TOPS), 6);
    assert.deepEqual(page.troubles, []);
  });

  test("a tab below an open site opens without a jump of any row", async () => {
    const page = await openSite();
    await scrollBy(page, 450);
    await page.until("tabs", NO_GAPS);
    const [seen, moved] = await page.evaluate(`(() => {
      const edge = document.querySelector('#site').getBoundingClientRect().bottom;
      const tab = [...document.querySelectorAll('.row .tab[href]:not(.outside)')].find((one) => {
        const { top, bottom } = one.getBoundingClientRect();
        return top > edge + 60 && bottom < innerHeight;
      });
      window.clicked = tab;
      const before = ${TOPS};
      tab.click();
      return [before, ${TOPS}];
    })()`);
    assertSame(seen, moved, 5);
    await page.until("the site", `${OPEN} && window.clicked.classList.contains('active')`);
    const between = await page.evaluate(`(() => {
      const row = window.clicked.closest('.row').getBoundingClientRect();
      const site = document.querySelector('#site').getBoundingClientRect();
      return [Math.round(site.top - row.bottom), row.top > 50 && site.bottom <= innerHeight];
    })()`);
    assert.deepEqual(between, [0, true], "the site is below its row, and both are in view");
    assert.deepEqual(page.troubles, []);
  });

  test("a site opens in view while only the first tabs are loaded", async () => {
    const asked = new Set();
    const late = new Proxy({}, {
      get: (_, path) => {
        if (!path.includes("/tabs/")) return 0;
        asked.add(path);
        return asked.values().next().value === path ? 0 : 8_000;
      },
    });
    const { page } = await visits.visit(sample, { late, until: PAINTED });
    await page.until("interaction", "document.querySelector('link[rel=manifest]')");
    await page.evaluate(`[...document.querySelectorAll('.row .tab[href]:not(.outside)')]
      .filter((tab) => tab.getBoundingClientRect().top < innerHeight).at(-1).click()`);
    await page.until("the site", OPEN);
    const inView = `(() => {
      const { top, bottom } = document.querySelector('#site').getBoundingClientRect();
      return top > 80 && bottom <= innerHeight;
    })()`;
    assert.equal(await page.evaluate(inView), true);
    await page.until("more tabs", "document.querySelector('#wall').offsetHeight > 1_800");
    assert.equal(await page.evaluate(inView), true, "and stays there");
    assert.deepEqual(page.troubles, []);
  });

  for (const [width, height] of [[1_000, 800], [1_500, 800], [1_280, 500]]) {
    test(`below an open site, rows stay in a window of ${width} x ${height}`, async () => {
      const page = await openSite();
      await scrollBy(page, 4_000);
      await page.until("tabs", NO_GAPS);
      const { hrefs, top } = await page.evaluate(FIRST_ROW);
      await page.resize(width, height);
      await page.until("the new layout", `innerWidth === ${width} && innerHeight === ${height}`);
      await scrollBy(page, 0);
      const tops = [];
      for (const href of hrefs) tops.push(await page.evaluate(topOf(href)));
      const isNear = (one) => one !== null && Math.abs(one - top) <= 58;
      assert.ok(tops.some(isNear), `${top}: ${tops}`);
      assert.deepEqual(page.troubles, []);
    });
  }

  test("an open site fits in a window that became lower, and stays in view", async () => {
    const page = await openSite();
    await page.resize(1_280, 420);
    const box = await page.until("the lower site", `innerHeight === 420 && (() => {
      const { top, bottom, height } = document.querySelector('#site').getBoundingClientRect();
      return height <= 420 && { top, bottom };
    })()`);
    assert.ok(box.top > 0 && box.top < 420 && box.bottom > 200, JSON.stringify(box));
    assert.deepEqual(page.troubles, []);
  });

  for (const width of [700, 1_000, 1_600]) {
    test(`nodes, focus and icons stay when the window gets ${width} px wide`, async () => {
      const { page } = await visits.visit(sample);
      await scrollBy(page, 2_000);
      await page.until("tabs", NO_GAPS);
      const [href, top] = await page.evaluate(`(() => {
        window.rows = [...document.querySelectorAll('.row')];
        const tab = [...document.querySelectorAll('.row .tab[href]')].find((one) => {
          const box = one.getBoundingClientRect();
          return box.top > 400 && box.left > 100 && box.right < innerWidth - 100;
        });
        tab.focus();
        return [tab.href, tab.getBoundingClientRect().top];
      })()`);
      await page.evaluate(`new Promise((done) => {
        addEventListener('resize', () => requestAnimationFrame(() => requestAnimationFrame(() => {
          window.blank = [...document.querySelectorAll('.row .icon:not([hidden])')]
            .filter((icon) => !icon.complete || icon.naturalWidth === 0).length;
        })), { once: true });
        done(true);
      })`);
      await page.resize(width, 800);
      await page.until("the new layout", `innerWidth === ${width} && window.blank !== undefined`);
      const seen = await page.evaluate(`(() => {
        const box = document.activeElement.getBoundingClientRect();
        return {
          href: document.activeElement.href,
          top: box.top,
          whole: box.left >= -1 && box.right <= innerWidth + 1,
          kept: window.rows.every((row) => row.isConnected),
          blank: window.blank,
          stops: document.querySelectorAll('.row .tab[tabindex="0"]').length,
        };
      })()`);
      assert.equal(seen.href, href);
      assert.ok(Math.abs(seen.top - top) < 2, `${top} -> ${seen.top}`);
      assert.deepEqual([seen.kept, seen.blank, seen.stops], [true, 0, 1]);
      assert.deepEqual(page.troubles, []);
    });
  }

  test("a tab that was searched for is brought to the middle of the view", async () => {
    const { host } = new URL(sample.bundle(33).entries.at(-1).url);
    const { page } = await visits.visit(sample, { hash: `#seed=7&site=${host}` });
    const middle = "(innerHeight + document.querySelector('#header').offsetHeight) / 2";
    await page.until("the tab in the middle", `(() => {
      const tab = document.querySelector('.row .tab.found');
      return tab && new URL(tab.href).hostname === '${host}' &&
        Math.abs(tab.getBoundingClientRect().top - ${middle}) < 100;
    })()`);
    assert.deepEqual(page.troubles, []);
  });

  test("the rows go on below the height that browsers allow", async () => {
    const large = sampleSite({ bundles: 500, tabsABundle: 10_000 });
    const { page } = await visits.visit(large, { until: PAINTED });
    const { rowHeight, perRow } = await page.evaluate(`({
      rowHeight: document.querySelector('.row').getBoundingClientRect().height,
      perRow: document.querySelectorAll('.row:not([hidden]) .tab[href]').length /
        document.querySelectorAll('.row:not([hidden])').length,
    })`);
    // The state after days of scrolling: all but ten bundles are known.
    const tab = Math.floor((MAX_WALL_PX - 2_000) / rowHeight * perRow);
    await page.until("the address", "history.state.tabs");
    await page.reload(() => page.evaluate(`(() => {
      const parts = Array.from({ length: 490 }, (_, i) => ({ start: 10000 * i, number: i }));
      const tabs = { parts, total: 4900000 };
      history.replaceState({ ...history.state, tabs, anchor: { tab: ${tab}, offsetPx: 0 } }, '');
      // The page must not store its own position when the visitor leaves it.
      Storage.prototype.setItem = () => {};
      location.reload();
    })()`));
    await page.until("the rows far down", `${PAINTED} && ${NO_GAPS} &&
      scrollY > 4e6 && scrollY < 12e6`);
    const before = await page.evaluate(FIRST_ROW);
    for (let step = 0; step < 8; step += 1) await scrollBy(page, 500);
    await page.until("tabs", NO_GAPS);
    const after = await page.evaluate(FIRST_ROW);
    assert.notDeepEqual(after.hrefs, before.hrefs);
    const [link] = await atRest(page);
    assert.ok(Number(/tab=(\d+)/.exec(link)[1]) > tab + 500, link);
    assert.deepEqual(page.troubles, []);
  });
});
