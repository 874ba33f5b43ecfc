// The map in a real browser, at several sizes.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.mjs";
import { until } from "./patience.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, MISPLACED, sendPointer, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const SITE = fileURLToPath(new URL("../", import.meta.url));
const PACKAGES = `${process.env.EVERYTAB_NODE ?? `${SITE}../target/node`}/node_modules`;
const AXE = `${PACKAGES}/axe-core/axe.min.js`;
/** Chromium's "Fast 4G" preset, in bytes per second and milliseconds. */
const FAST_4G = {
  offline: false, latency: 165, downloadThroughput: 1_012_500, uploadThroughput: 168_750,
};
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const SEEN = "document.querySelector('#seen').textContent";
const MESSAGE = "document.querySelector('#message').textContent";
const RETRY = "document.querySelector('#retry')";
const CARD = "!document.querySelector('#tab-card').hidden";
const CARD_HOST = "document.querySelector('#tab-card .host').textContent";
const SHOWN = `${SEEN} !== '' && document.querySelector('#map').ariaBusy === 'false'`;
const BOX = "document.querySelector('#map').getBoundingClientRect().toJSON()";
const PLACE = `(() => {
  const [x, y, scale] = location.hash.slice(1).split(',').map(Number);
  return { x, y, scale };
})()`;
const LIST = "document.querySelectorAll('#tabs button').length";

describe("the map", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const sample = withMap(sampleSite({ bundles: 400 }));
  const { side, grid } = sample.manifest.map;
  const site = (() => {
    const bundle = 245;
    const slot = sample.bundle(bundle).entries
      .findIndex(({ icon, url }, at) => at > 50 && icon && !url.includes("www."));
    const { host } = new URL(sample.bundle(bundle).entries[slot].url);
    const x = (bundle % side) * grid + slot % grid;
    const y = Math.floor(bundle / side) * grid + Math.floor(slot / grid);
    return { bundle, slot, host, x, y };
  })();
  const visit = (hash = "", more = {}) =>
    visits.visit(sample, { path: `map.html${hash}`, until: SHOWN, ...more });
  const lateTiles = (ms, levels = [0, 1, 2]) => Object.fromEntries(levels.flatMap((z) =>
    [0, 1, 2, 3].flatMap((x) => [0, 1, 2, 3].map((y) =>
      [`${sample.prefix}map/${z}/${x}-${y}.png`, ms]))));
  const wheel = (page, x, y, deltaY) =>
    page.call("Input.dispatchMouseEvent", { type: "mouseWheel", x, y, deltaX: 0, deltaY });
  const placeAt = async (page, x, y) => {
    const [box, place] = [await page.evaluate(BOX), await page.evaluate(PLACE)];
    return {
      x: place.x + (x - box.left - box.width / 2) / place.scale,
      y: place.y + (y - box.top - box.height / 2) / place.scale,
    };
  };
  const middleOf = async (page) => {
    const box = await page.evaluate(BOX);
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  };

  test("the whole web is seen at first, from few tiles, and the words say so", async () => {
    const { page, server } = await visit();
    assert.match(await page.evaluate(SEEN), /^All 48,000 tabs in view\./);
    const tiles = server.asked.filter((path) => path.includes("/map/"));
    assert.ok(tiles.length > 1 && tiles.length < 20, `${tiles.length}`);
    assert.ok(!server.asked.some((path) => path.includes("/tabs/")));
    const colours = await page.evaluate(`(() => {
      const canvas = document.querySelector('#map');
      const { data } = canvas.getContext('2d').getImageData(canvas.width / 2 - 40,
        canvas.height / 2 - 40, 80, 80);
      return new Set(new Uint32Array(data.buffer)).size;
    })()`);
    assert.ok(colours > 500, `${colours} colours`);
    await atRest(page);
    assert.equal(await page.evaluate("location.hash"), "");
    assert.deepEqual(page.troubles, []);
  });

  test("the wheel zooms at the pointer, in and out", async () => {
    const { page } = await visit("#110,110,8");
    const [x, y] = [300, 400];
    const before = await placeAt(page, x, y);
    for (let step = 0; step < 4; step += 1) await wheel(page, x, y, -100);
    await page.until("zoomed in", `${PLACE}.scale > 20`);
    await atRest(page);
    const nearer = await placeAt(page, x, y);
    assert.ok(Math.hypot(nearer.x - before.x, nearer.y - before.y) < 0.1, JSON.stringify(nearer));
    for (let step = 0; step < 5; step += 1) await wheel(page, x, y, 100);
    await page.until("zoomed out", `${PLACE}.scale < 7`);
    await atRest(page);
    const farther = await placeAt(page, x, y);
    const apart = Math.hypot(farther.x - before.x, farther.y - before.y);
    assert.ok(apart < 0.2, JSON.stringify(farther));
    assert.deepEqual(page.troubles, []);
  });

  test("a pinch on a touchpad in Safari zooms at the pointer", async () => {
    const { page } = await visit("#110,110,8");
    const before = await placeAt(page, 300, 400);
    await page.evaluate(`(() => {
      const pinch = (name, scale) => document.querySelector('#map').dispatchEvent(
        Object.assign(new Event(name), { scale, clientX: 300, clientY: 400 }));
      pinch('gesturestart', 1);
      pinch('gesturechange', 1.5);
      pinch('gesturechange', 3);
    })()`);
    await page.until("nearer", `Math.abs(${PLACE}.scale - 24) < 0.1`);
    const there = await placeAt(page, 300, 400);
    assert.ok(Math.hypot(there.x - before.x, there.y - before.y) < 0.1);
  });

  test("requests for what is no longer in view are aborted, and that is no trouble", async () => {
    let aborted = 0;
    const { page, server } = await visit("#110,110,8", {
      late: lateTiles(8_000, [0]),
      until: "document.querySelector('#nearer').disabled === false",
      prepare: (one) => one.on("Network.loadingFailed", ({ canceled }) => {
        aborted += canceled ? 1 : 0;
      }),
    });
    await until("a request for a fine tile",
      () => server.asked.some((path) => path.includes("/map/0/")));
    await page.evaluate("document.querySelector('#all').click()");
    await page.until("all", `${SEEN}.startsWith('All') && ${SHOWN}`);
    assert.ok(aborted > 0);
    assert.equal(await page.evaluate(MESSAGE), "");
  });

  test("icons that come before the tiles below them end the loading", async () => {
    const late = lateTiles(8_000, [0, 1]);
    const { page, server } = await visit(`#${site.x + 0.5},${site.y + 0.5},48`, { late });
    assert.ok(server.asked.some((path) => path.slice(1) in late));
    assert.deepEqual(page.troubles, []);
  });

  test("while nothing has come, it says that the map is loading", async () => {
    const { page } = await visit("", {
      until: `${MESSAGE} === 'Loading the map…'`, late: lateTiles(4_000),
    });
    await page.until("its end", `${MESSAGE} === '' && ${SHOWN}`);
  });

  test("dragging moves the map with the pointer, and a throw goes on", async () => {
    const { page } = await visit("#110,110,16");
    const mouse = (type, x) => page.call("Input.dispatchMouseEvent", {
      type, x, y: 400, button: "left", buttons: 1, clickCount: 1,
    });
    const held = await placeAt(page, 500, 400);
    await mouse("mousePressed", 500);
    for (let x = 500; x >= 340; x -= 8) await mouse("mouseMoved", x);
    await new Promise((done) => setTimeout(done, 200));
    await mouse("mouseReleased", 340);
    await atRest(page);
    const there = await placeAt(page, 340, 400);
    assert.ok(Math.abs(there.x - held.x) < 0.1, "a drag that stopped throws nothing");
    assert.equal(await page.evaluate(CARD), false, "a drag is no click");
    await sendPointer(page, "mouse", Array.from({ length: 11 }, (_, i) => ({
      name: { 0: "pointerdown", 10: "pointerup" }[i] ?? "pointermove",
      x: 500 - 18 * Math.min(9, i), y: 400, at: 8 * i,
    })));
    await page.until("more than was dragged", `${PLACE}.x > 110 + 20.2`);
  });

  test("two fingers zoom, two taps too", async () => {
    const { page } = await visit("#110,110,8", { view: PHONE });
    const touch = (type, points) => page.call("Input.dispatchTouchEvent", {
      type, touchPoints: points.map(([x, y], id) => ({ x, y, id })),
    });
    const middle = { x: 195, y: 400 };
    const held = await placeAt(page, middle.x, middle.y);
    await touch("touchStart", [[175, 400], [215, 400]]);
    for (let by = 30; by <= 80; by += 10) {
      await touch("touchMove", [[195 - by, 400], [195 + by, 400]]);
    }
    await touch("touchEnd", []);
    await page.until("four times as near", `Math.abs(${PLACE}.scale - 32) < 1`);
    const there = await placeAt(page, middle.x, middle.y);
    assert.ok(Math.hypot(there.x - held.x, there.y - held.y) < 0.2);
    await sendPointer(page, "touch", [0, 40, 150, 190].map((at, i) =>
      ({ name: i % 2 ? "pointerup" : "pointerdown", x: 100, y: 300, at })));
    await page.until("nearer", `${PLACE}.scale > 60`);
    assert.deepEqual(page.troubles, []);
  });

  test("a click on a cell shows the card of its tab, with the icon of the cell", async () => {
    const { page } = await visit(`#${site.x + 0.5},${site.y + 0.5},64`);
    await page.until("the list", `${LIST} > 50`);
    const { x, y } = await middleOf(page);
    await page.pointAt(x, y);
    await page.until("its name", `document.querySelector('#map').title.endsWith('${site.host}')`);
    await page.click(x, y);
    await page.until("the card", `${CARD} && ${CARD_HOST} === '${site.host}'`);
    const look = () => page.evaluate(`(async () => {
      const card = document.querySelector('#tab-card');
      const image = card.querySelector('img');
      await image.decode();
      const pixels = (source, x, y, side) => {
        const canvas = document.createElement('canvas');
        canvas.width = canvas.height = 8;
        const context = canvas.getContext('2d');
        context.fillStyle = '${sample.manifest.map.background}';
        context.fillRect(0, 0, 8, 8);
        context.drawImage(source, x, y, side, side, 0, 0, 8, 8);
        return [...context.getImageData(3, 3, 2, 2).data];
      };
      const map = document.querySelector('#map');
      return {
        icon: pixels(image, 0, 0, image.naturalWidth),
        shown: pixels(map, map.width / 2 - 28, map.height / 2 - 28, 57),
        links: [...card.querySelectorAll('a')].map((link) => link.getAttribute('href')),
      };
    })()`);
    let seen;
    await until("the icon in its cell", async () => {
      const { icon, shown } = seen = await look();
      return icon.reduce((sum, value, i) => sum + Math.abs(value - shown[i]), 0) / icon.length < 24;
    }, () => `: ${JSON.stringify(seen)}`);
    assert.deepEqual(seen.links, [`./#site=${site.host}`,
      new URL(sample.bundle(site.bundle).entries[site.slot].url).href]);
    assert.equal(await page.evaluate(
      "(({ width, naturalWidth }) => width / naturalWidth)(document.querySelector('.large'))"), 4);
    await atRest(page);
    assert.equal(await page.evaluate("location.hash"), `#site=${site.host}`);
    await page.key("Escape");
    await page.evaluate("document.querySelector('[data-part=close]').click()");
    await page.until("closed", `!(${CARD})`);
    await page.until("the place", "location.hash.includes(',')");
    assert.deepEqual(page.troubles, []);
  });

  test("a cold link to a site lights it on Fast 4G, and asks for little on the way", async () => {
    const { page, server } = await visit(`#site=${site.host}`, {
      until: "true", prepare: (one) => one.call("Network.emulateNetworkConditions", FAST_4G),
    });
    await page.until("the card", `${CARD} && ${CARD_HOST} === '${site.host}'`);
    await atRest(page);
    assert.equal(await page.evaluate("location.hash"), `#site=${site.host}`);
    const asked = server.asked.filter((path) => /\/(?:map|tabs|search)\//.test(path));
    assert.ok(asked.length < 45, `${asked.length} requests`);
    const box = await page.evaluate("document.querySelector('#tab-card').getBoundingClientRect()" +
      ".toJSON()");
    assert.ok(box.left >= 0 && box.top > 0 && box.right < 1280 && box.bottom <= 800);
    assert.deepEqual(page.troubles, []);
  });

  test("my site is found by what I type, and what has no tab is said in words", async () => {
    const { page } = await visit();
    const type = async (text) => {
      await page.evaluate("{ const [find] = document.forms; find[0].focus(); find[0].select(); }");
      await page.call("Input.insertText", { text });
      await page.key("Enter");
    };
    await type("nobody.example");
    await page.until("the words",
      "document.querySelector('#found-status').textContent.startsWith('No website found.')");
    await page.evaluate("{ const [find] = document.forms; find.reset(); find.requestSubmit(); }");
    await page.until("the words", `/^Type a website's name/.test(${MESSAGE})`);
    const before = await page.evaluate("location.hash");
    await type(`https://www.${site.host.toUpperCase()}:443/page`);
    await page.until("the card", `${CARD} && ${CARD_HOST} === '${site.host}'`);
    assert.equal(await page.evaluate(`${MESSAGE} + document.activeElement.id`), "map");
    await page.key("Escape");
    await page.until("no card", `!(${CARD})`);
    await page.back();
    await page.until("the view before the search", `location.hash === ${JSON.stringify(before)}`);
    await page.evaluate("document.querySelector('#site').focus()");
    await page.call("Input.insertText", { text: site.host.slice(0, 4) });
    await page.until("suggestions", "document.querySelectorAll('#found [role=option]').length > 1");
    assert.deepEqual(page.troubles, []);
  });

  test("all of it works with keys: zoom, pan, home, card, list", async () => {
    const { page } = await visit(`#${site.x + 0.5},${site.y + 0.5},48`);
    await page.until("the list", `${LIST} > 50`);
    await page.evaluate("document.querySelector('#map').focus()");
    await page.key("ArrowRight");
    await page.key("ArrowDown");
    await page.until("the next cell", `${PLACE}.x === ${site.x + 1.5} &&
      ${PLACE}.y === ${site.y + 1.5}`);
    await page.key("ArrowUp");
    await page.key("ArrowLeft");
    await page.until("back", `${PLACE}.x === ${site.x + 0.5}`);
    await page.key("Enter");
    await page.until("the card", `${CARD} && ${CARD_HOST} === '${site.host}' &&
      document.activeElement.closest('#tab-card')`);
    await page.key("Escape");
    await page.until("the map", `!(${CARD}) && document.activeElement.id === 'map'`);
    await page.key("+");
    await page.until("nearer", `${PLACE}.scale > 80`);
    await page.key("-");
    await page.key("-");
    await page.until("farther", `${PLACE}.scale < 40`);
    await page.key("Home");
    await page.until("all", `location.hash === '' && ${SEEN}.startsWith('All 48,000')`);
    assert.equal(await page.evaluate(LIST), 0);
    assert.deepEqual(page.troubles, []);
  });

  test("the list holds the tabs of the bundle in the middle, and opens their cards", async () => {
    const { page } = await visit(`#${site.x + 0.5},${site.y + 0.5},48`);
    await page.until("the list", `${LIST} > 50`);
    assert.match(await page.evaluate(SEEN), /^Block 246 of 400, at the centre: 120/);
    const chosen = await page.evaluate(`(() => {
      const button = document.querySelectorAll('#tabs button')[7];
      button.focus();
      button.click();
      return button.querySelector('small').textContent;
    })()`);
    await page.until("its card", `${CARD} && ${CARD_HOST} === '${chosen}'`);
    assert.equal(await page.evaluate("document.querySelector('#tabs [aria-current] small')" +
      ".textContent"), chosen);
    await page.evaluate("document.querySelector('#tab-card a').focus()");
    await page.key("Escape");
    await page.until("the button again", "document.activeElement.closest('#tabs')");
    await page.evaluate("document.querySelector('#steps button:last-child').click()");
    await page.until("the next bundle", `${SEEN}.startsWith('Block 247 ') && ${LIST} > 50`);
    assert.deepEqual(page.troubles, []);
  });

  test("with reduced motion nothing flies, glides or is thrown", async () => {
    const { page } = await visit("", { view: { media: { "prefers-reduced-motion": "reduce" } } });
    await page.evaluate(`(() => {
      const { drawImage } = CanvasRenderingContext2D.prototype;
      window.widths = new Set();
      CanvasRenderingContext2D.prototype.drawImage = function (...all) {
        if (this.canvas.id === 'map' && all.length === 9) window.widths.add(all[7]);
        return drawImage.apply(this, all);
      };
      for (let i = 0; i < 3; i += 1) document.querySelector('#nearer').click();
    })()`);
    await atRest(page);
    assert.ok(await page.evaluate("window.widths.size") <= 8, "few sizes were drawn");
    await page.evaluate("document.querySelector('#all').click()");
    await page.until("all", `${SEEN}.startsWith('All')`);
  });

  test("a link opens cold at its place, and an edited address leads elsewhere", async () => {
    const { page } = await visit("#100.5,99.5,12");
    await atRest(page);
    assert.equal(await page.evaluate("location.hash"), "#100.5,99.5,12");
    await page.evaluate("location.hash = '#50,60,30'");
    await page.until("there", `${SEEN}.startsWith('Block 105 ')`);
    await page.evaluate(`location.hash = '#site=${site.host}'`);
    await page.until("the card", `${CARD} && ${CARD_HOST} === '${site.host}'`);
    assert.equal(await page.evaluate("history.length"), 4, "moving adds no step");
  });

  test("tiles that fail are drawn from coarser ones, and the words say what to do", async () => {
    let status = 404;
    const { page, server } = await visit("#110,110,4", {
      until: `!${RETRY}.hidden`,
      replace: (path) => (/\/map\/[01]\//.test(path) && status !== 200 ? { status } : null),
    });
    assert.match(await page.evaluate(MESSAGE), /has moved/);
    const shown = `(() => {
      const canvas = document.querySelector('#map');
      const { data } = canvas.getContext('2d').getImageData(canvas.width / 2, 300, 200, 200);
      return new Set(new Uint32Array(data.buffer)).size;
    })()`;
    await page.until("a coarser tile", `${shown} > 50`);
    status = 503;
    await page.reload();
    await page.until("the words", `/isn't responding/.test(${MESSAGE})`);
    const asked = server.asked.length;
    await atRest(page);
    assert.equal(server.asked.length, asked, "what failed is not asked for again and again");
    status = 200;
    await page.evaluate(`${RETRY}.click()`);
    await page.until("all is well", `${MESSAGE} === '' && ${RETRY}.hidden && ${SHOWN}`);
  });

  test("a bundle that is missing is said, and its icons are drawn from tiles", async () => {
    const { page } = await visit(`#${site.x},${site.y},40`, {
      until: `!${RETRY}.hidden`,
      replace: (path) => (path.endsWith(`/tabs/${site.bundle}.json`) ? { status: 404 } : null),
    });
    assert.match(await page.evaluate(MESSAGE), /newer version/);
    await page.until("the words", `${SEEN}.includes('not loaded')`);
    const { x, y } = await middleOf(page);
    await page.click(x, y);
    await page.until("the words", `${MESSAGE} === 'The tab could not be loaded.'`);
  });

  test("a scan without a map, no scan, and no network are said plainly", async () => {
    const old = sampleSite({ bundles: 20 });
    const plain = { ...old, manifest: { ...old.manifest, map: undefined } };
    const { page } = await visits.visit(plain, { path: "map.html", until: `!${RETRY}.hidden` });
    assert.match(await page.evaluate(MESSAGE), /^This version has no map/);
    assert.equal(await page.evaluate("document.querySelector('#nearer').disabled"), true);
    const { page: wall } = await visits.visit(plain);
    const link = "document.querySelector('#map-link').checkVisibility()";
    assert.equal(await wall.evaluate(link), false, "the wall has no link to it");
    let answer = { status: 404 };
    const { page: other } = await visit("", {
      until: `!${RETRY}.hidden`,
      replace: (path) => (path === "manifest.json" ? answer : null),
    });
    assert.match(await other.evaluate(MESSAGE), /manifest.json is missing/);
    answer = { status: 503 };
    await other.evaluate(`${RETRY}.click()`);
    await other.until("other words", `/isn't responding/.test(${MESSAGE})`);
    answer = null;
    await other.evaluate(`${RETRY}.click()`);
    await other.until("the map", SHOWN);
  });

  test("tiles that a takedown replaced are the ones asked for", async () => {
    const path = "takedowns/x/map/1/0-0.png";
    const map = { ...sample.manifest.map, overrides: { "1/0-0": path } };
    const changed = { ...sample, manifest: { ...sample.manifest, map } };
    const { server } = await visits.visit(changed, {
      path: "map.html#60,60,4",
      until: SHOWN,
      replace: (asked) =>
        (asked.endsWith(path) ? { status: 200, body: sample.tile(1, 0, 0) } : null),
    });
    assert.ok(server.asked.some((asked) => asked.endsWith(path)));
    assert.ok(!server.asked.some((asked) => asked.endsWith(`${sample.prefix}map/1/0-0.png`)));
  });

  for (const view of [
    { width: 390, height: 844, phone: true, scale: 2 }, { width: 390, height: 560, phone: true },
    { width: 1_440, height: 900 }, { width: 2_560, height: 1_440, scale: 2 },
  ]) {
    test(`nothing is cut or overlaps near and far at ${view.width} x ${view.height}`, async () => {
      for (const scheme of ["light", "dark"]) {
        const media = { "prefers-color-scheme": scheme };
        const { page } = await visit(`#site=${site.host}`, {
          view: { ...view, media }, until: `${CARD} && ${LIST} > 50`,
        });
        const none = { wide: false, cut: [], over: 0 };
        const check = async (name) =>
          assert.deepEqual(await page.evaluate(MISPLACED), none, `${name} ${scheme}`);
        await check("card");
        await atRest(page);
        assert.ok(await page.evaluate(`(() => {
          const card = document.querySelector('#tab-card').getBoundingClientRect();
          const box = ${BOX};
          return card.bottom <= box.bottom && card.height < box.height * 0.6;
        })()`), "the card leaves room");
        await page.evaluate("document.querySelector('#toggle').click()");
        await check("list");
        const { width, tall } = await page.evaluate(`(() => {
          const { width, height } = ${BOX};
          const fits = document.documentElement.scrollHeight <= innerHeight;
          return { width, tall: height > 120 && fits };
        })()`);
        assert.ok(width > 300 && tall);
        await page.evaluate("document.querySelector('#all').click()");
        await check("whole");
        assert.deepEqual(page.troubles, []);
        await visits.leave();
      }
    });
  }

  test("in no state axe finds a fault", {
    skip: existsSync(AXE) ? false : `no ${AXE}; scripts/install/test.sh`,
  }, async () => {
    const axe = readFileSync(AXE, "utf8");
    for (const [size, scheme, forced] of [
      [PHONE, "dark", "none"], [{ width: 1_440, height: 900 }, "light", "none"],
      [{ width: 1_440, height: 900 }, "dark", "active"],
    ]) {
      const media = {
        "prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce", "forced-colors": forced,
      };
      const { page } = await visit("", { view: { ...size, media } });
      const check = async (name) => {
        await page.evaluate(axe);
        const found = JSON.parse(await page.evaluate(`axe.run(document, {
          runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        }).then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) =>
          [id, nodes[0].html.slice(0, 200), nodes[0].failureSummary.slice(0, 300)])))`));
        assert.deepEqual(found, [], `${name} ${size.width} ${scheme} ${forced}`);
      };
      await check("whole");
      await page.evaluate(`location.hash = '#site=${site.host}'`);
      await page.until("the card", `${CARD} && ${LIST} > 50`);
      await page.evaluate("document.querySelector('#toggle').click()");
      await check("card and list");
      await page.evaluate("location.hash = '#site=nobody.example'");
      await page.until("the words", `${MESSAGE} !== ''`);
      await check("words");
      await visits.leave();
    }
  });
});
