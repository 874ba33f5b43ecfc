// Diving to random sites in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, PAINTED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const HOST = "document.querySelector('#site .host').textContent";
const READY = `${PAINTED} && !document.querySelector('#dive').disabled`;
const CLOSED = `document.querySelector('#site').hidden &&
  document.querySelectorAll('iframe').length === 0`;
const SPACE = { key: " ", code: "Space", windowsVirtualKeyCode: 32 };

describe("diving", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const shown = async (page, former) => {
    await page.until("another site", `document.querySelector('#site').dataset.state === 'shown' &&
      !document.querySelector('#site').hidden && ${HOST} !== ${JSON.stringify(former)} &&
      location.hash.endsWith('&site=' + ${HOST} + '&open') && (() => {
        const row = document.querySelector('.tab.opened').closest('.row').getBoundingClientRect();
        const site = document.querySelector('#site').getBoundingClientRect();
        return row.top >= 60 && Math.abs(site.top - row.bottom) < 1 && site.top < innerHeight;
      })()`);
    return page.evaluate(HOST);
  };
  const press = async (page) => {
    await page.call("Input.dispatchKeyEvent", { type: "keyDown", text: " ", ...SPACE });
    await page.call("Input.dispatchKeyEvent", { type: "keyUp", ...SPACE });
  };
  const pressButton = (page) => page.evaluate("document.querySelector('#dive').click()");
  const place = (page) => page.evaluate("JSON.stringify([location.hash, scrollY])");

  for (const view of [{}, { width: 390, height: 844, phone: true, scale: 2 }]) {
    const name = view.phone ? "a phone" : "a desktop";
    test(`the button opens one site after another, and Back closes each, on ${name}`, async () => {
      const { page } = await visits.visit(sampleSite({ bundles: 80 }), { view, until: READY });
      await scrollBy(page, 300);
      const top = await place(page);
      const hosts = [""];
      for (let dive = 0; dive < 4; dive += 1) {
        await page.evaluate("document.querySelector('#dive').focus()");
        await pressButton(page);
        hosts.push(await shown(page, hosts.at(-1)));
        assert.equal(await page.evaluate("document.activeElement.id"), "dive");
      }
      assert.equal(new Set(hosts).size, 5);
      for (const host of hosts.slice(1, -1).reverse()) {
        await page.back();
        await page.until(`${host} again`, `${HOST} === ${JSON.stringify(host)} &&
          document.querySelectorAll('iframe').length === 1`);
        await shown(page, "");
      }
      await page.back();
      await page.until("the wall", CLOSED);
      await page.until("its place", `Math.abs(scrollY - ${JSON.parse(top)[1]}) < 2`);
      assert.deepEqual(page.troubles, []);
    });
  }

  test("the space key scrolls the wall, from a tab too", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 80 }), { until: READY });
    await page.until("its address", "location.hash === '#seed=7'");
    await press(page);
    await page.until("another place", "scrollY > 100");
    await page.evaluate("document.querySelector('.row .tab[tabindex=\"0\"]').focus()");
    const [before] = await atRest(page, "[scrollY]");
    await press(page);
    await page.until("a place further down", `scrollY > ${before + 100}`);
    assert.equal(await page.evaluate(CLOSED), true);
    assert.doesNotMatch(await page.evaluate("location.hash"), /open/);
    assert.deepEqual(page.troubles, []);
  });

  test("the space key presses the button again after a dive, and Escape leads up", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 80 }), { until: READY });
    await page.until("its address", "location.hash === '#seed=7'");
    // As in browsers that do not focus a button that was clicked.
    await pressButton(page);
    let former = await shown(page, "");
    for (let dive = 0; dive < 2; dive += 1) {
      await press(page);
      former = await shown(page, former);
    }
    await page.key("Escape");
    await page.until("the wall", `${CLOSED} && !location.hash.includes('open')`);
    assert.match(await page.evaluate("location.hash"), /^#seed=7(?:&tab=\d+)?$/);
    assert.deepEqual(page.troubles, []);
  });

  test("the space key types in the search field, and presses a button", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), { until: READY });
    await page.evaluate("document.querySelector('#find').focus()");
    await press(page);
    await page.until("a space", "document.querySelector('#find').value === ' '");
    await page.evaluate("document.querySelector('#motion').focus()");
    await press(page);
    await page.until("its press",
      "document.querySelector('#motion').ariaLabel.startsWith('Start')");
    assert.equal(await page.evaluate(CLOSED), true);
  });

  test("a dive waits for bundles that are late", async () => {
    const sample = sampleSite({ bundles: 400, tabsABundle: 12 });
    const late = {};
    for (let number = 0; number < 400; number += 1) {
      late[`${sample.prefix}tabs/${number}.json`] = 80;
    }
    const { page } = await visits.visit(sample, { late, until: READY });
    let former = "";
    for (let dive = 0; dive < 8; dive += 1) {
      await pressButton(page);
      former = await shown(page, former);
    }
    assert.ok((await page.evaluate("scrollY")) > 600);
    assert.deepEqual(page.troubles, []);
  });

  test("at the end of a small scan a dive begins again, and a lone site is enough", async () => {
    const sample = sampleSite({ bundles: 1, tabsABundle: 40 });
    const { entries } = sample.bundle(0);
    entries.forEach((entry, slot) => {
      entry.iframe_ok = slot === 7 || slot === 30;
      entry.url = entry.url.replace("http:", "https:");
    });
    const { page } = await visits.visit({ ...sample, bundle: () => ({ entries }) },
      { until: READY });
    const hosts = new Set();
    let former = "";
    for (let dive = 0; dive < 6; dive += 1) {
      await pressButton(page);
      former = await shown(page, former);
      hosts.add(former);
    }
    assert.equal(hosts.size, 2);
    await page.until("rest", "document.querySelector('#dive').ariaBusy === 'false'");
  });

  test("tabs whose bundle is gone are told of, and a dive passes over them", async () => {
    const gone = new Set();
    const { page, server } = await visits.visit(sampleSite({ bundles: 80 }), {
      until: READY, replace: (path) => (gone.has(`/${path}`) ? { status: 404 } : null),
    });
    await atRest(page);
    const count = "JSON.stringify(history.state.tabs?.parts.length ?? 0)";
    await page.until("a step that keeps the tabs", `${count} > 0`);
    for (const path of server.asked) if (path.includes("/tabs/")) gone.add(path);
    await page.reload();
    await page.until("the words", `document.querySelector('#notice').textContent
      .startsWith('Some of these tabs have moved.')`);
    await page.until("the button", "!document.querySelector('#dive').disabled");
    await pressButton(page);
    await page.until("a site", "document.querySelector('#site').dataset.state === 'shown'");
    await page.until("the end of waiting", "document.querySelector('#dive').ariaBusy === 'false'");
  });

  test("an open site whose bundle is gone is not waited for", async () => {
    let isGone = false;
    const sample = sampleSite({ bundles: 80 });
    const { url } = sample.bundle(61).entries.find((one) => one.iframe_ok);
    const { page } = await visits.visit(sample, {
      until: READY, hash: `#seed=9&site=${new URL(url).hostname}&open`,
      replace: (path) => (isGone && path.endsWith("/61.json") ? { status: 404 } : null),
    });
    await shown(page, "");
    await page.until("its number", "history.state.index >= 0");
    isGone = true;
    await page.reload();
    await page.until("an address without it", `document.querySelector('#notice').textContent &&
      !location.hash.includes('&open')`);
  });
});
