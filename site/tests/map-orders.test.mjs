// The map's orders in a real browser.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.mjs";
import { until } from "./patience.mjs";
import { withMap } from "./sample-map.mjs";
import { withOrders } from "./sample-orders.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, MISPLACED, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const SITE = fileURLToPath(new URL("../", import.meta.url));
const PACKAGES = `${process.env.EVERYTAB_NODE ?? `${SITE}../target/node`}/node_modules`;
const AXE = `${PACKAGES}/axe-core/axe.min.js`;
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const SEEN = "document.querySelector('#seen').textContent";
const MESSAGE = "document.querySelector('#message').textContent";
const SHOWN = `${SEEN} !== '' && document.querySelector('#map').ariaBusy === 'false'`;
const ORDERED = `document.querySelector('#order-map')?.ariaBusy === 'false' &&
  ${SEEN}.includes('At the centre')`;
/** True once this order is shown: its button is pressed as soon as it is wanted. */
const shows = (name) => `${ORDERED} &&
  document.querySelector('#order-map').ariaLabel.endsWith(' by ${name}')`;
const CARD = "!document.querySelector('#tab-card').hidden";
const PRESSED = "document.querySelector('#orders [aria-pressed=true]').value";
const SHARE_TAB = "document.querySelector('#tab-card [data-part=card]').click()";
const COPIES = `(() => {
  window.copied = [];
  const set = (name, value) => Object.defineProperty(navigator, name,
    { value, configurable: true });
  set('share', undefined);
  set('clipboard', { writeText: async (text) => { window.copied.push(text); } });
})()`;
const choose = (name) => `document.querySelector('#orders [value="${name}"]').click()`;

describe("the map's orders", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const plain = withMap(sampleSite({ bundles: 400, domains: ["com", "com", "de", "xn--p1ai"] }));
  const sample = withOrders(plain);
  const { side, grid } = sample.manifest.map;
  const width = side * grid;
  const visit = (hash = "", more = {}) => visits.visit(more.sample ?? sample,
    { path: `map.html${hash}`, until: hash.includes("order=") ? ORDERED : SHOWN, ...more });
  const click = async (page, { x, y }) => {
    for (const type of ["mousePressed", "mouseReleased"]) {
      await page.call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    }
  };
  const middleOf = (page) => page.evaluate(`(() => {
    const box = document.querySelector('#order-map').getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  })()`);
  const bands = (page) => page.evaluate(`(() => {
    const canvas = document.querySelector('#order-map') ?? document.querySelector('#map');
    const { data, width, height } = canvas.getContext('2d')
      .getImageData(canvas.width / 2 - 150, 0, 300, canvas.height);
    return [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => {
      const sum = [0, 0, 0];
      const [top, rows] = [Math.floor(part * height) - 8, 16];
      for (let i = top * width; i < (top + rows) * width; i += 1) {
        for (let c = 0; c < 3; c += 1) sum[c] += data[4 * i + c];
      }
      return sum.map((value) => Math.round(value / (rows * width)));
    });
  })()`);
  const apart = (all) => all.slice(1).map((one, i) =>
    Math.max(...one.map((value, c) => Math.abs(value - all[i][c]))));

  test("by colour the whole has bands, and the address and Back keep the order", async () => {
    const { page, server } = await visit("", { view: { width: 1_440, height: 900 } });
    await atRest(page);
    assert.ok(Math.max(...apart(await bands(page))) < 40, "as it comes, the whole is even");
    await page.evaluate(choose("colour"));
    await page.until("the order", ORDERED);
    await atRest(page);
    assert.equal(await page.evaluate(PRESSED), "colour");
    assert.equal(await page.evaluate("location.hash"), "#order=colour");
    assert.match(await page.evaluate(SEEN), /^All 48,000 tabs in view\. At the centre: /);
    const shown = await bands(page);
    const changes = apart(shown).filter((change) => change > 40);
    assert.ok(changes.length >= 2, `bands: ${JSON.stringify(shown)}`);
    assert.ok(!server.asked.some((path) => path.includes("/places/")), "only a tap needs places");
    await page.evaluate(choose("domain"));
    await page.until("another", `${shows("domain")} && ${PRESSED} === 'domain'`);
    await page.back();
    await page.until("back", `${shows("colour")} && ${PRESSED} === 'colour'`);
    await page.back();
    await page.until("as it comes", `${PRESSED} === '' && !document.querySelector('#order-map')`);
    await page.until("as it was", `${SEEN} === 'All 48,000 tabs in view.'`);
    assert.deepEqual(page.troubles, []);
  });

  test("a link leads to a place in an order, and a tap shows the tab that is there", async () => {
    const place = 41 * width + 57;
    const { page, server } = await visit("#order=domain&at=57.5,41.5,20");
    await atRest(page);
    assert.equal(await page.evaluate("location.hash"), "#order=domain&at=57.5,41.5,20");
    await click(page, await middleOf(page));
    await page.until("the card", CARD);
    const { bundle, slot } = sample.places("domain")[place];
    const { url, title } = sample.bundle(bundle).entries[slot];
    const shown = await page.evaluate(`({
      title: document.querySelector('#tab-card h2').textContent,
      wall: document.querySelector('#tab-card [data-part=wall]').href,
    })`);
    assert.equal(shown.title, title);
    assert.ok(shown.wall.endsWith(`#site=${new URL(url).hostname}`), shown.wall);
    const files = server.asked.filter((path) => path.includes("/places/"));
    assert.deepEqual(files.map((path) => path.split("/").pop()), ["0.bin"]);
    await atRest(page);
    assert.match(await page.evaluate("location.hash"), /^#order=domain&at=/);
    await page.evaluate(choose(""));
    await page.until("as it comes", `${PRESSED} === '' && !${CARD}`);
    await atRest(page);
    assert.equal(await page.evaluate("location.hash"), "");
    assert.deepEqual(page.troubles, []);
  });

  test("a tab's Share shows its own card, also if its bundle's number is its place", async () => {
    const places = sample.places("colour");
    const isOwn = ({ bundle, slot }, place) => bundle === place && slot > 0;
    const [own, other] = [places.findIndex(isOwn), 30 * width + 100];
    assert.ok(own >= 0 && places[other].bundle !== other);
    for (const place of [own, other]) {
      const at = `${place % width}.5,${Math.floor(place / width)}.5,24`;
      const { page, server } = await visit(`#order=colour&at=${at}`);
      await page.evaluate(SHARE_TAB);
      await page.until("that there is none", `${MESSAGE}.includes("can't be shown right now")`);
      await click(page, await middleOf(page));
      await page.until("the tab", CARD);
      await page.evaluate(SHARE_TAB);
      await page.until("its card", "document.querySelector('dialog[open]')");
      const { bundle, slot } = places[place];
      const { url, title } = sample.bundle(bundle).entries[slot];
      const quote = "document.querySelector('dialog[open] .card-quote').textContent";
      assert.equal(await page.evaluate(quote), title);
      await page.evaluate(COPIES);
      await page.evaluate(`[...document.querySelectorAll('dialog[open] button')]
        .find((one) => one.textContent === 'Share').click()`);
      await page.until("a link", "window.copied.length > 0");
      assert.deepEqual(await page.evaluate("window.copied"),
        [`${server.url}t/${bundle}.html#${new URL(url).hostname}`]);
      await page.evaluate("document.querySelector('#tab-card').hidden = true");
      await page.key("Escape");
      await page.until("no card", "!document.querySelector('dialog[open]')");
      assert.equal(await page.evaluate("document.activeElement.id"), "order-map");
      assert.deepEqual(page.troubles, []);
      await visits.leave();
    }
  });

  test("the view of an order is shared with the order, and a chosen tab by its name", async () => {
    const { page, server } = await visit("#order=domain");
    await page.evaluate(COPIES);
    const shared = async (number) => {
      await page.evaluate("document.querySelector('#share-view').click()");
      await page.until("a link", `window.copied.length === ${number}`);
      return (await page.evaluate("window.copied.at(-1)")).replace(`${server.url}map.html`, "");
    };
    assert.equal(await shared(1), "#order=domain");
    await page.evaluate("location.hash = '#order=domain&at=57.5,41.5,20'");
    await page.until("near", `${SEEN}.includes(' of 48,000 ')`);
    assert.equal(await shared(2), "#order=domain&at=57.5,41.5,20");
    await click(page, await middleOf(page));
    await page.until("the card", CARD);
    const { bundle, slot } = sample.places("domain")[41 * width + 57];
    assert.equal(await shared(3),
      `#site=${new URL(sample.bundle(bundle).entries[slot].url).hostname}`);
  });

  test("from afar a tap asks to zoom in, and Enter shows the tab at the centre", async () => {
    const { page } = await visit("#order=colour", { view: { width: 800, height: 600 } });
    await click(page, await middleOf(page));
    await page.until("the hint", `${MESSAGE}.startsWith('Zoom in')`);
    assert.ok(!(await page.evaluate(CARD)));
    await page.evaluate("location.hash = '#order=colour&at=100.5,30.5,24'");
    await page.until("near", `${SEEN}.includes(' of 48,000 ')`);
    await page.evaluate("document.querySelector('#order-map').focus()");
    for (const type of ["keyDown", "keyUp"]) {
      await page.call("Input.dispatchKeyEvent", { type, key: "Enter", code: "Enter" });
    }
    await page.until("the card", CARD);
    const { bundle, slot } = sample.places("colour")[30 * width + 100];
    assert.equal(await page.evaluate("document.querySelector('#tab-card h2').textContent"),
      sample.bundle(bundle).entries[slot].title);
    for (const type of ["keyDown", "keyUp"]) {
      await page.call("Input.dispatchKeyEvent", { type, key: "Escape", code: "Escape" });
    }
    await page.until("closed", `!${CARD}`);
    assert.equal(await page.evaluate("document.activeElement.id"), "order-map");
  });

  test("the list names the areas and leads to them", async () => {
    const { page } = await visit("#order=domain");
    const listed = await page.evaluate(`[...document.querySelectorAll('#areas button')]
      .map((button) => button.firstChild.textContent)`);
    assert.deepEqual(listed, [".com", ".de (Germany)", ".рф"]);
    await page.evaluate("document.querySelectorAll('#areas button')[2].click()");
    await page.until("there", `${SEEN}.includes('At the centre: .рф, ')`);
    await atRest(page);
    assert.match(await page.evaluate("location.hash"), /^#order=domain&at=/);
  });

  test("at a place whose tab was removed, a message says so", async () => {
    const { bundle, slot } = sample.places("domain")[41 * width + 57];
    const without = (number) => ({
      entries: sample.bundle(number).entries.map((entry, at) =>
        (number === bundle && at === slot ? null : entry)),
    });
    const { page } = await visit("#order=domain&at=57.5,41.5,20",
      { sample: { ...sample, bundle: without } });
    await click(page, await middleOf(page));
    await page.until("the message", `${MESSAGE} === 'No tab here any more.'`);
    assert.ok(!(await page.evaluate(CARD)));
    assert.deepEqual(page.troubles, []);
  });

  test("the focus stays on the map when its order changes, with or without a card", async () => {
    const { page } = await visit("");
    const focused = "document.activeElement.id";
    await page.evaluate("document.querySelector('#map').focus()");
    for (const name of ["domain", "colour"]) {
      await page.evaluate(`location.hash = '#order=${name}&at=57.5,41.5,20'`);
      await page.until("the order", shows(name));
      assert.equal(await page.evaluate(focused), "order-map", name);
    }
    await page.key("Enter");
    await page.until("the card has the focus", "document.activeElement.dataset.part === 'wall'");
    await page.evaluate("location.hash = '#order=domain'");
    await page.until("the order", shows("domain"));
    assert.equal(await page.evaluate(focused), "order-map");
    for (const isOpen of [false, true]) {
      await page.evaluate("location.hash = '#order=colour&at=57.5,41.5,20'");
      await page.until("the order", `${shows("colour")} && ${SEEN}.includes(' of 48,000 ')`);
      assert.equal(await page.evaluate(focused), "order-map");
      if (isOpen) {
        await page.key("Enter");
        await page.until("the card's", "document.activeElement.dataset.part === 'wall'");
      }
      await page.evaluate("location.hash = ''");
      await page.until("as it comes", "!document.querySelector('#order-map')");
      assert.equal(await page.evaluate(focused), "map", `${isOpen}`);
    }
    assert.deepEqual(page.troubles, []);
  });

  test("a found site is shown among the tabs as they come", async () => {
    const { page } = await visit("#order=colour");
    const { host } = new URL(sample.bundle(245).entries[60].url);
    await page.evaluate(`(() => {
      document.querySelector('#site').value = '${host}';
      document.querySelector('#find').requestSubmit();
    })()`);
    await page.until("the card", CARD);
    await atRest(page);
    assert.equal(await page.evaluate(PRESSED), "");
    assert.equal(await page.evaluate("location.hash"), `#site=${host}`);
    assert.ok(await page.evaluate("document.querySelector('#areas').hidden"));
    assert.equal(await page.evaluate("getComputedStyle(document.querySelector('#map')).visibility"),
      "visible");
  });

  test("an order that cannot be loaded leaves the map, and says so", async () => {
    for (const answer of [{ status: 404 }, { status: 200, body: "{}" }, "drop"]) {
      const replace = (path) => (path.endsWith("colour/index.json") ? answer : null);
      const { page } = await visit("", { replace });
      await page.evaluate(choose("colour"));
      await page.until("the message", `${MESSAGE} === "This order couldn't be loaded."`);
      assert.equal(await page.evaluate(PRESSED), "");
      assert.ok(!(await page.evaluate("document.querySelector('#order-map')")));
      await page.evaluate(choose("domain"));
      await page.until("another", `${shows("domain")} && ${PRESSED} === 'domain'`);
    }
    let missing = true;
    const noModule = (path) => (missing && path === "js/map-orders.js" ? { status: 404 } : null);
    const { page: other } = await visit("#order=colour&at=57.5,41.5,20", {
      replace: noModule, until: `${MESSAGE} === "This order couldn't be loaded."`,
    });
    await other.until("the plain map's address", "location.hash === ''");
    assert.equal(await other.evaluate(PRESSED), "");
    assert.equal(await other.evaluate(SEEN), "All 48,000 tabs in view.");
    await other.evaluate("location.hash = '#50,60,30'");
    await other.until("another place", `${SEEN}.startsWith('Block')`);
    await other.evaluate(choose("colour"));
    await other.until("the message", `${MESSAGE} === "This order couldn't be loaded."`);
    await other.until("the address", "location.hash === '#50,60,30'");
    missing = false;
    await other.evaluate(choose("colour"));
    await other.until("the order", `${shows("colour")} && ${PRESSED} === 'colour'`);
    const replace = (path) => (path.includes("/places/") ? { status: 404 } : null);
    const { page } = await visit("#order=domain&at=57.5,41.5,20", { replace });
    await click(page, await middleOf(page));
    await page.until("the message", `${MESSAGE} === 'The tab could not be loaded.'`);
  });

  test("an order is pressed while it loads, and As it comes stops it", async () => {
    const { page } = await visit();
    await page.evaluate(`(() => {
      const { fetch } = window;
      const released = new Promise((resolve) => (window.release = resolve));
      window.fetch = async (url, options) => {
        if (!url.endsWith('/colour/index.json')) return fetch(url, options);
        await released;
        const response = await fetch(url, options);
        window.answered = true;
        return response;
      };
    })()`);
    const pages = await page.evaluate("history.length");
    for (let i = 0; i < 2; i += 1) await page.evaluate(choose("colour"));
    assert.deepEqual(await page.evaluate(`[${PRESSED}, location.hash, history.length]`),
      ["colour", "#order=colour", pages + 1]);
    await page.evaluate(choose(""));
    assert.deepEqual(await page.evaluate(`[${PRESSED}, location.hash, history.length]`),
      ["", "", pages + 2]);
    await page.evaluate("window.release()");
    await page.until("the index", "window.answered");
    await atRest(page);
    assert.deepEqual(await page.evaluate(`[${PRESSED}, location.hash, ${SEEN},
      document.querySelector('#order-map')]`), ["", "", "All 48,000 tabs in view.", null]);
    assert.deepEqual(page.troubles, []);
  });

  test("an order that is not shown any more is not held in memory", async () => {
    const { page } = await visit("#order=colour");
    await page.evaluate(`(() => {
      window.before = new WeakRef(document.querySelector('#order-map'));
      const { remove } = HTMLCanvasElement.prototype;
      HTMLCanvasElement.prototype.remove = function () {
        window.sizes = [this.width, this.height];
        remove.call(this);
      };
    })()`);
    await page.evaluate(choose("domain"));
    await page.until("another", shows("domain"));
    assert.deepEqual(await page.evaluate("window.sizes"), [0, 0]);
    await until("that it is free", async () => {
      await page.call("HeapProfiler.collectGarbage");
      return page.evaluate("window.before.deref() === undefined");
    });
    assert.deepEqual(page.troubles, []);
  });

  test("a scan without orders has no control, and without ranks there is no button", async () => {
    const hidden = `[...document.querySelectorAll('#orders, #orders button')]
      .filter((one) => one.checkVisibility()).map((one) => one.value ?? one.id)`;
    const { page: none } = await visit("#50,60,30", { sample: plain });
    assert.deepEqual(await none.evaluate(hidden), []);
    const { manifest } = sample;
    const { rank, ...orders } = manifest.map.orders;
    assert.ok(rank);
    const map = { ...manifest.map, orders };
    const { page } = await visit("", { sample: { ...sample, manifest: { ...manifest, map } } });
    assert.deepEqual(await page.evaluate(hidden), ["orders", "", "colour", "domain"]);
  });

  test("nothing is cut off on a phone, and axe finds nothing", {
    skip: skip || (existsSync(AXE) ? false : `${AXE} is missing`),
  }, async () => {
    for (const view of [PHONE, { width: 320, height: 640 }, { width: 1_440, height: 900 }]) {
      const { page } = await visit("#order=domain", { view });
      const { wide, cut } = await page.evaluate(MISPLACED);
      assert.deepEqual({ wide, cut }, { wide: false, cut: [] }, `${view.width}`);
      await page.evaluate(readFileSync(AXE, "utf8"));
      const found = await page.evaluate(`axe.run().then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`);
      assert.deepEqual(found, [], `${view.width}`);
    }
  });
});
