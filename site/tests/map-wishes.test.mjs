// Actions on the map that follow each other before the first one is finished, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { until } from "./patience.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, HOLD_SEARCH, sendPointer, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const SEEN = "document.querySelector('#seen').textContent";
const SHOWN = `${SEEN} !== '' && document.querySelector('#map').ariaBusy === 'false'`;

describe("wishes that overtake each other on the map", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const sample = withMap(sampleSite({ bundles: 400 }));
  const { host } = new URL(sample.bundle(245).entries[60].url);
  const visit = (hash = "", more = {}) =>
    visits.visit(sample, { path: `map.html${hash}`, until: SHOWN, ...more });

  test("an address without a place shows the whole", async () => {
    const { page } = await visit("#50,60,30");
    await atRest(page);
    await page.evaluate("location.hash = ''");
    await page.until("all", `${SEEN}.startsWith('All 48,000')`);
  });

  test("a search that was overtaken by another address or a tap moves nothing", async () => {
    const others = {
      address: (page) => page.evaluate("location.hash = '#50,60,30'"),
      tap: (page) => sendPointer(page, "mouse", [
        { name: "pointerdown", x: 400, y: 400, at: 0 },
        { name: "pointerup", x: 400, y: 400, at: 40 },
      ]),
    };
    for (const [name, other] of Object.entries(others)) {
      const { page } = await visit("#51,60,30");
      await page.evaluate(HOLD_SEARCH);
      await page.evaluate(`(() => {
        document.querySelector('#site').value = '${host}';
        document.querySelector('#find').requestSubmit();
      })()`);
      await page.until("a request", "window.asked > 0");
      await other(page);
      await page.evaluate("window.release()");
      await page.until("the answer", "window.answered > 1");
      await atRest(page);
      assert.match(await page.evaluate(SEEN), /^Block 105 /, name);
      assert.ok(!(await page.evaluate("location.hash")).includes(host), name);
    }
  });

  test("a network that comes back while the manifest is awaited makes no second map", async () => {
    const { page, server } = await visit("", {
      until: "document.readyState === 'complete'", late: { "manifest.json": 2_500 },
    });
    await until("a request for the manifest", () => server.asked.includes("/manifest.json"));
    await page.evaluate("window.dispatchEvent(new Event('online'))");
    await page.until("both answers", `performance.getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('/manifest.json')).length === 2`);
    await page.until("the map", SHOWN);
    assert.equal(server.asked.filter((path) => path === "/manifest.json").length, 2);
    await atRest(page);
    const tiles = server.asked.filter((path) => path.includes("/map/"));
    assert.ok(tiles.length > 1);
    assert.deepEqual(tiles, [...new Set(tiles)], "each is asked for once");
  });

  test("a list that has the focus is not replaced by another of its bundle", async () => {
    const { page } = await visit();
    const kept = await page.evaluate(`(async () => {
      const { MapList } = await import('/js/map-list.js');
      const [list, words, steps, hint] = ['ul', 'p', 'div', 'p']
        .map((name) => document.body.appendChild(document.createElement(name)));
      const shown = new MapList({ list, words, steps, hint }, {});
      const tabs = () => new Map([[3, { host: 'a.example', title: 'A', icon: '' }]]);
      shown.show('', { bundle: 7, tabs: tabs() });
      list.querySelector('button').focus();
      const isFocused = () => list.contains(document.activeElement);
      const kept = [isFocused()];
      for (const again of [null, tabs()]) {
        shown.show('', { bundle: 7, tabs: again });
        kept.push(isFocused() && !list.hidden);
      }
      shown.show('', { bundle: 8, tabs: tabs() });
      kept.push(isFocused());
      return kept;
    })()`);
    assert.deepEqual(kept, [true, true, true, false]);
  });
});
