// The view that a link opens, in a real browser, cold and with any module late.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { closure } from "./modules.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, clickOn, FILLED, PAINTED, scrollBy, Visits, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
/** Chromium's "Fast 4G" preset, in bytes per second and milliseconds. */
const FAST_4G = {
  offline: false, latency: 165, downloadThroughput: 1_012_500, uploadThroughput: 168_750,
};
const LATE_MS = 300;
const FILES = [...closure("main.js"), ...closure("interaction.js"), ...closure("search-files.js"),
  ...closure("saved-stream.js"), "style.js"].map((module) => `js/${module}`);
FILES.push("css/interaction.css");
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const SEEN = `(() => {
  const rows = [...document.querySelectorAll('.row:not([hidden])')]
    .map((row) => ({ row, top: row.getBoundingClientRect().top }))
    .filter(({ top }) => top > 60 && top < innerHeight)
    .sort((a, b) => a.top - b.top);
  const hosts = rows.flatMap(({ row }) => [...row.querySelectorAll('.tab')].map(String).sort());
  return JSON.stringify([Math.round(rows[0]?.top), hosts]);
})()`;
const IS_OPEN = "!document.querySelector('#site').hidden";
const CLOSED = `document.querySelector('#site').hidden &&
  !document.querySelector('#wall.making-room')`;
const NO_GAPS = "!document.querySelector('.row:not([hidden]) .coming:not([hidden])')";

const sample = sampleSite({ bundles: 80 });
const entry = sample.bundle(61).entries.find((one) => one.iframe_ok &&
  !one.url.includes("www."));
const host = new URL(entry.url).hostname;
const lit = (name = host) => `(() => {
  const tab = document.querySelector('.row .tab.found');
  const box = tab?.getBoundingClientRect();
  return tab && new URL(tab.href).hostname === '${name}' && box.top >= 80 &&
    box.bottom <= innerHeight && box.left >= -1 && box.right <= innerWidth;
})()`;
const opened = (name = host) => `document.querySelector('#site').dataset.state === 'shown' &&
  document.querySelector('#site .host').textContent === '${name}' &&
  document.querySelector('.row .tab.active[href="https://${name}/"]')`;
const hash = (page) => page.evaluate("location.hash");
const notice = (page) => page.evaluate("document.querySelector('#notice').textContent");
const slow = (page) => page.call("Network.emulateNetworkConditions", FAST_4G);

// These tests mostly wait for the network, so they run concurrently.
describe("a cold link while a file is late", { skip, concurrency: 4 }, () => {
  let visits;
  before(() => {
    visits = new Visits(program);
  });
  after(() => visits?.close());

  for (const file of new Set(FILES)) {
    test(`opens its site on Fast 4G, late: ${file}`, async () => {
      const visit = await visits.visit(sample, {
        prepare: slow, until: "true", gzip: true, late: { [file]: LATE_MS },
        hash: `#seed=9&site=${host}&open`,
      });
      const { page, server } = visit;
      await page.until("the open site", opened());
      assert.equal(await hash(page), `#seed=9&site=${host}&open`);
      assert.deepEqual(page.troubles, []);
      assert.ok(server.asked.some((path) => path.endsWith(file)), "the file is asked for");
      await visits.end(visit);
    });
  }
});

describe("the page's address", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  test("a cold link lights its site on Fast 4G", async () => {
    const { page } = await visits.visit(sample, {
      prepare: slow, until: "true", gzip: true, hash: `#site=${host}`,
    });
    await page.until("the tab, lit up", lit());
    assert.match(await hash(page), new RegExp(`^#seed=\\d+&site=${host}$`));
    assert.deepEqual(page.troubles, []);
  });

  test("a link of another scan leads to the site, with or without www.", async () => {
    const { page } = await visits.visit(sample, { hash: `#seed=9&bundle=3&site=www.${host}` });
    await page.until("the tab, lit up", lit());
    await page.evaluate(`location.hash = '#site=${host}&open'`);
    await page.until("the open site", opened());
  });

  test("a host without a tab is said plainly, and the wall is there", async () => {
    const { page } = await visits.visit(sample, { hash: "#site=nobody.example&open" });
    assert.match(await notice(page), /^nobody\.example isn't here: /);
    const box = await page.evaluate(`(() => {
      const { top, bottom } = document.querySelector('#notice').getBoundingClientRect();
      return top > 0 && bottom <= innerHeight;
    })()`);
    assert.ok(box, "it is in view");
    assert.equal(await page.evaluate(IS_OPEN), false);
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("a site", `${IS_OPEN} && /&open$/.test(location.hash)`);
    await page.back();
    await page.until("the wall", `${CLOSED} && !location.hash.includes('&open')`);
    await page.evaluate("document.querySelector('#shuffle').click()");
    await page.until("its end", "document.querySelector('#notice').textContent === ''");
    assert.deepEqual(page.troubles, []);
  });

  test("a link that opens a site which cannot be framed leads to its tab", async () => {
    const outside = sample.bundle(61).entries.find((one) => !one.iframe_ok);
    const name = new URL(outside.url).hostname;
    const { page } = await visits.visit(sample, { hash: `#seed=9&site=${name}&open` });
    await page.until("the tab, lit up", lit(name));
    await page.until("its address", `location.hash === '#seed=9&site=${name}'`);
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("a site", `${IS_OPEN} && /&open$/.test(location.hash)`);
    await page.back();
    await page.until("the wall", `${CLOSED} && !location.hash.includes('&open')`);
  });

  test("names that did not come are said plainly", async () => {
    const { page } = await visits.visit(sample, {
      hash: `#site=${host}`,
      replace: (path) => (path.includes("/search/") ? { status: 503 } : null),
    });
    assert.match(await notice(page), /the search index didn't load\.$/);
  });

  for (const view of [{}, PHONE]) {
    const name = view.phone ? "a phone" : "a desktop";
    test(`the first wall has an address that shows it again, on ${name}`, async () => {
      const { page, server } = await visits.visit(sample, { hash: "", view });
      assert.match(await hash(page), /^#seed=\d+$/);
      const top = await page.evaluate(SEEN);
      await page.reload();
      await page.until("the same tabs", `${FILLED} && ${SEEN} === ${JSON.stringify(top)}`);
      for (let step = 0; step < 5; step += 1) {
        await scrollBy(page, 701);
        await page.until("tabs", NO_GAPS);
      }
      await atRest(page);
      const below = await page.evaluate(SEEN);
      const link = await hash(page);
      assert.match(link, /^#seed=\d+&tab=\d+$/);
      const asked = server.asked.length;
      await page.reload();
      await page.until("the same place", `${PAINTED} && ${SEEN} === ${JSON.stringify(below)}`);
      const bundles = server.asked.slice(asked).filter((path) => path.includes("/tabs/"));
      assert.ok(bundles.length < 12, `only what is seen and next is loaded: ${bundles}`);
      await page.open(`${server.url}about.html`);
      await page.until("another page", "document.title.includes('About')");
      await page.back();
      await page.until("the same place", `${PAINTED} && ${SEEN} === ${JSON.stringify(below)}`);
      const cold = await visits.visit(sample, { hash: link, view });
      await cold.page.until("the same row at its top", `${PAINTED} &&
        location.hash === ${JSON.stringify(link)} && scrollY > 2_000`);
      assert.deepEqual(page.troubles, []);
    });

    test(`opening a site is a step that Back closes, on ${name}`, async () => {
      const { page } = await visits.visit(sample, { view });
      await scrollBy(page, 500);
      await page.until("tabs", NO_GAPS);
      const before = await page.evaluate(SEEN);
      await clickOn(page, ".row .tab[href]:not(.outside)");
      await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
      const site = await page.evaluate("document.querySelector('#site .host').textContent");
      assert.equal(await hash(page), `#seed=7&site=${site}&open`);
      await page.back();
      await page.until("the wall", CLOSED);
      assert.match(await hash(page), /^#seed=7&tab=\d+$/);
      await page.until("its place", `${SEEN} === ${JSON.stringify(before)}`);
      await page.evaluate("history.forward()");
      await page.until("the site again", opened(site));
      await page.reload();
      await page.until("the site after a reload", opened(site));
      await page.evaluate("document.querySelector('[data-part=close]').click()");
      await page.until("the wall", `${CLOSED} && /^#seed=7&tab=\\d+$/.test(location.hash)`);
      assert.equal(await page.evaluate("history.length"), 3, "closing adds no step");
      assert.deepEqual(page.troubles, []);
    });
  }

  test("closing passes over the pages that the frame went to", async () => {
    const { page } = await visits.visit(sample);
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
    await page.evaluate(
      "document.querySelector('iframe').contentWindow.location = 'https://b.example/'");
    await page.until("another page",
      "document.querySelector('.host').textContent.startsWith('You followed')");
    await page.key("Escape");
    await page.until("the wall", `${CLOSED} && location.hash === '#seed=7'`);
    assert.equal(await page.evaluate("document.title.includes('EveryTab')"), true);
    assert.deepEqual(page.troubles, []);
  });

  test("another tab that is opened takes the place of the open one in the address", async () => {
    const { page } = await visits.visit(sample);
    const click = (number) => page.evaluate(`[...document.querySelectorAll(
      '.row .tab[href]:not(.outside)')].filter((tab) => tab.getBoundingClientRect().top > 100)
      [${number}].click()`);
    await click(1);
    const site = await page.until("a site", `${IS_OPEN} && location.hash`);
    await click(3);
    await page.until("another", `location.hash !== '${site}' && /&open$/.test(location.hash)`);
    await page.back();
    await page.until("the wall", `${CLOSED} && location.hash === '#seed=7'`);
  });

  test("Back after Shuffle and after a search shows the former wall where it was", async () => {
    const { page } = await visits.visit(sample);
    await scrollBy(page, 813);
    await page.until("tabs", NO_GAPS);
    await atRest(page);
    const before = await page.evaluate(SEEN);
    await page.evaluate("document.querySelector('#shuffle').click()");
    await page.until("another wall", `location.hash !== '#seed=7' && ${PAINTED} &&
      ${SEEN} !== ${JSON.stringify(before)}`);
    await page.back();
    await page.until("the former wall", `${SEEN} === ${JSON.stringify(before)}`);
    await page.evaluate("document.querySelector('#find').focus()");
    await page.call("Input.insertText", { text: host });
    await page.until("a suggestion", "document.querySelector('#found [role=option]')");
    await page.key("Enter");
    await page.until("the tab, lit up", lit());
    await page.back();
    await page.until("the former wall", `${SEEN} === ${JSON.stringify(before)}`);
    await page.evaluate("history.forward()");
    await page.until("the wall of the search", `${PAINTED} && ${NO_GAPS} &&
      document.querySelector('.tab[href="https://${host}/"]')`);
    assert.deepEqual(page.troubles, []);
  });

  test("the chosen skin is part of the address", async () => {
    const { page } = await visits.visit(sample);
    await page.evaluate(`(() => {
      const select = document.querySelector('#skin');
      select.value = 'safari';
      select.dispatchEvent(new Event('change'));
    })()`);
    await page.until("the address", "location.hash === '#seed=7&skin=safari'");
    await page.reload();
    await page.until("the skin", `${FILLED} &&
      document.documentElement.dataset.skin === 'safari' &&
      document.querySelector('#skin').value === 'safari'`);
  });

  test("rows in view stay where they are when a site above them is closed", async () => {
    const { page } = await visits.visit(sample);
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the site", `${IS_OPEN} && !document.querySelector('#wall.making-room')`);
    await scrollBy(page, 2_000);
    await page.until("tabs", NO_GAPS);
    const before = await page.evaluate(SEEN);
    await page.key("Escape");
    await page.until("closed", CLOSED);
    await page.until("the same rows", `${SEEN} === ${JSON.stringify(before)}`);
  });

  test("the place is kept however soon the page is left", async () => {
    const { page, server } = await visits.visit(sample);
    await atRest(page);
    const leave = async (how) => {
      const place = await page.evaluate(`new Promise((done) => {
        window.scrollBy(0, 700);
        requestAnimationFrame(() => setTimeout(() => {
          done(scrollY);
          ${how};
        }));
      })`);
      return place;
    };
    let reloaded;
    await page.reload(async () => (reloaded = await leave("location.reload()")));
    await page.until("the place after a reload", `${PAINTED} && scrollY === ${reloaded}`);
    await page.until("tabs", FILLED);
    await atRest(page);
    const left = await leave("document.querySelector('nav a[href=\"about.html\"]').click()");
    await page.until("another page", "document.title.includes('About')");
    await page.back();
    await page.until("the place", `${PAINTED} && scrollY === ${left}`);
    assert.ok(server.asked.includes("/about.html"));
  });

  test("a link to a tab that is too far down says so, and stays until one scrolls", async () => {
    const { page, server } = await visits.visit(sampleSite({ bundles: 400 }), {
      hash: "#seed=9&tab=7000",
    });
    const words = "Tab 7,001 is too far down for a link. Scroll down from here to reach it.";
    await page.until("the words", `document.querySelector('#notice').textContent === '${words}'`);
    await atRest(page);
    assert.equal(await hash(page), "#seed=9&tab=7000");
    await page.reload();
    await page.until("the words", `document.querySelector('#notice').textContent === '${words}'`);
    assert.equal(await hash(page), "#seed=9&tab=7000");
    await scrollBy(page, 500);
    await page.until("the words' end", "document.querySelector('#notice').textContent === ''");
    await page.until("the tab in view", "/^#seed=9&tab=\\d{2,3}$/.test(location.hash)");
    const bundles = server.asked.filter((path) => path.includes("/tabs/"));
    assert.ok(bundles.length < 16, `what is not shown is not loaded: ${bundles.length}`);
    const { page: other } = await visits.visit(sample, { hash: "#seed=9&tab=700000" });
    await other.until("the words", "document.querySelector('#notice').textContent === " +
      "'Tab 700,001 does not exist. This is the top of the wall.'");
  });

  test("the scroll position is not read after rows were painted", async () => {
    const { page } = await visits.visit(sample);
    await page.evaluate(`(() => {
      window.readers = [];
      const { get } = Object.getOwnPropertyDescriptor(window, 'scrollY');
      Object.defineProperty(window, 'scrollY', {
        get() {
          window.readers.push(new Error().stack);
          return get.call(window);
        },
        configurable: true,
      });
    })()`);
    await scrollBy(page, 900);
    await page.until("tabs", NO_GAPS);
    const readers = await page.evaluate("window.readers");
    assert.ok(readers.length > 0);
    assert.deepEqual(readers.filter((stack) => /\bpainted\b/.test(stack)), []);
  });
});
