// The map's landmarks and its search, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const PHONE = { width: 360, height: 740, phone: true, scale: 2 };
const DESKTOP = { width: 1_440, height: 900 };
const SEEN = "document.querySelector('#seen').textContent";
const MESSAGE = "document.querySelector('#message').textContent";
const SHOWN = `${SEEN} !== '' && document.querySelector('#map').ariaBusy === 'false'`;
const CARD_HOST = `(document.querySelector('#tab-card').hidden ? ''
  : document.querySelector('#tab-card .host').textContent)`;
const LIST = "[...document.querySelectorAll('#tabs button')].map((one) => one.textContent)";
const FOUND = "[...document.querySelectorAll('#found [role=option]')].map((one) => " +
  "one.textContent)";
const STATUS = "document.querySelector('#found-status').textContent";
/** The boxes of the controls on the map, in device pixels. */
const CONTROLS = `(() => {
  const { left, top } = document.querySelector('#map').getBoundingClientRect();
  return [...document.querySelectorAll('.stage > :is(.zoom, .orders, .share-view)')].map((one) => {
    const box = one.getBoundingClientRect();
    return {
      left: (box.left - left) * devicePixelRatio, right: (box.right - left) * devicePixelRatio,
      top: (box.top - top) * devicePixelRatio, bottom: (box.bottom - top) * devicePixelRatio,
    };
  });
})()`;
const MARGIN_PX = 6;

/**
 * Records the landmarks in the map's last frame as `drawn`, in device pixels, and the names in all
 * pictures as `written`.
 */
const RECORD = `(() => {
  const names = new WeakMap();
  window.drawn = [];
  window.written = [];
  const { fillText } = OffscreenCanvasRenderingContext2D.prototype;
  OffscreenCanvasRenderingContext2D.prototype.fillText = function (text, ...all) {
    names.set(this.canvas, text);
    window.written.push(text);
    return fillText.call(this, text, ...all);
  };
  const { drawImage, fillRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillRect = function (...all) {
    if (this.canvas.id === 'map' && all[2] === this.canvas.width) window.drawn = [];
    return fillRect.apply(this, all);
  };
  CanvasRenderingContext2D.prototype.drawImage = function (picture, ...all) {
    if (this.canvas.id === 'map' && all.length === 2) {
      const [left, top] = all;
      window.drawn.push({
        name: names.get(picture), alpha: this.globalAlpha, left, top,
        right: left + picture.width, bottom: top + picture.height,
      });
    }
    return drawImage.call(this, picture, ...all);
  };
})()`;

describe("the map's landmarks", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);
  const sample = withMap(sampleSite({ bundles: 400 }), { landmarks: 200 });
  const places = sample.landmarks().trim().split("\n").map((line) => {
    const [host, bundle, slot] = line.split("\t");
    return { host, bundle: Number(bundle), slot: Number(slot) };
  });
  const { side, grid } = sample.manifest.map;
  const cellOf = ({ bundle, slot }) => ({
    x: (bundle % side) * grid + slot % grid + 0.5,
    y: Math.floor(bundle / side) * grid + Math.floor(slot / grid) + 0.5,
  });
  const visit = async (hash = "", { site = sample, view = DESKTOP, ...more } = {}) => {
    const { page, server } = await visits.visit(site, {
      path: `map.html${hash}`,
      until: SHOWN,
      view,
      prepare: (one) => one.call("Page.addScriptToEvaluateOnNewDocument", { source: RECORD }),
      ...more,
    });
    return { page, server };
  };
  const drawn = async (page, ratio = 1) => {
    await atRest(page, "[window.drawn, window.written.length]");
    const margin = MARGIN_PX * ratio;
    return (await page.evaluate("window.drawn")).map((one) => ({
      ...one, left: one.left + margin, top: one.top + margin, right: one.right - margin,
      bottom: one.bottom - margin,
    }));
  };
  const isApart = (a, b) => a.left >= b.right || b.left >= a.right || a.top >= b.bottom ||
    b.top >= a.bottom;
  const middle = ({ left, right, top, bottom }) =>
    ({ x: (left + right) / 2, y: (top + bottom) / 2 });
  const mapBox = (page) => page.evaluate(
    "document.querySelector('#map').getBoundingClientRect().toJSON()");

  test("from afar the best are drawn with their names, near none, on a phone fewer", async () => {
    const counts = {};
    for (const [size, view] of Object.entries({ PHONE, DESKTOP })) {
      const ratio = view.scale ?? 1;
      const hashes = { whole: "", middle: "#110,110,7", side: "#150,60,9", near: "#110,110,19" };
      for (const [name, hash] of Object.entries(hashes)) {
        const { page } = await visit(hash, { view });
        if (name !== "near") await page.until("landmarks", "window.drawn.length > 2");
        const boxes = await drawn(page, ratio);
        counts[`${size} ${name}`] = boxes.length;
        const canvas = await mapBox(page);
        const controls = await page.evaluate(CONTROLS);
        boxes.forEach((a, i) => {
          assert.ok(a.name.length > 3 && a.alpha === 1, JSON.stringify(a));
          const isIn = a.left >= 0 && a.right <= canvas.width * ratio && a.top >= 0 &&
            a.bottom <= canvas.height * ratio;
          assert.ok(isIn || name !== "whole", `${JSON.stringify(a)} is cut`);
          for (const b of controls) {
            assert.ok(isApart(a, b), `${size} ${name}: ${JSON.stringify([a, b])}`);
          }
          for (const b of boxes.slice(0, i)) {
            assert.ok(isApart(a, b), `${size} ${name}: ${JSON.stringify([a, b])}`);
          }
        });
        assert.deepEqual(page.troubles, []);
        await visits.leave();
      }
    }
    assert.deepEqual([counts["PHONE near"], counts["DESKTOP near"]], [0, 0]);
    assert.ok(counts["PHONE whole"] >= 3 && counts["PHONE whole"] <= 9, JSON.stringify(counts));
    assert.ok(counts["DESKTOP whole"] >= 10 && counts["DESKTOP whole"] <= 30,
      JSON.stringify(counts));
    assert.ok(counts["PHONE middle"] < counts["DESKTOP middle"], JSON.stringify(counts));
  });

  test("a name that is too long keeps its end", async () => {
    const long = "very-long-label.".repeat(4);
    const site = {
      ...sample,
      landmarks: () => sample.landmarks().replaceAll(/^(?:www\.)?/gm, long),
    };
    const { page } = await visit("", { site });
    await page.until("landmarks", "window.drawn.length > 2");
    const names = (await drawn(page)).map(({ name }) => name);
    assert.ok(names.every((name) => /^…\S*\d\.example$/.test(name)), names.join(" "));
  });

  test("a drag moves them with the map, and draws no picture again", async () => {
    const { page } = await visit("#110,110,7");
    await page.until("landmarks", "window.drawn.length > 2");
    const before = await drawn(page);
    await page.evaluate("{ const map = document.querySelector('#map'); map.focus(); }");
    await page.evaluate("window.written = []");
    const mouse = (type, x) => page.call("Input.dispatchMouseEvent", {
      type, x, y: 400, button: "left", buttons: 1, clickCount: 1,
    });
    await mouse("mousePressed", 500);
    for (let x = 500; x >= 450; x -= 10) await mouse("mouseMoved", x);
    await page.until("a move", `window.drawn[0].left !== ${before[0].left - MARGIN_PX}`);
    const after = await drawn(page);
    await mouse("mouseReleased", 450);
    const lefts = (boxes) => new Map(boxes.map((one) => [one.name, one.left]));
    const [from, to] = [lefts(before), lefts(after)];
    const { width } = await mapBox(page);
    for (const [name, left] of from) {
      if (left > 60) assert.ok(Math.abs(to.get(name) - left + 50) <= 1, name);
    }
    const entered = after.filter(({ name }) => !from.has(name));
    const controls = await page.evaluate(CONTROLS);
    const wasCovered = (one) => controls.some((control) =>
      !isApart({ ...one, left: one.left + 49, right: one.right + 51 }, control));
    assert.ok(entered.every((one) => one.right > width - 60 || wasCovered(one)),
      JSON.stringify(entered));
    const written = new Set(await page.evaluate("window.written"));
    assert.deepEqual(written, new Set(entered.map(({ name }) => name)));
  });

  test("a control that is not displayed covers no landmark", async () => {
    const best = places.find((place) => {
      const { x, y } = cellOf(place);
      return x > 20 && y > 20 && x < side * grid / 2 && y < side * grid / 2;
    });
    const { page } = await visit();
    await page.until("landmarks", "window.drawn.length > 2");
    assert.ok(await page.evaluate("document.querySelector('.orders').hidden"));
    // The box of a hidden element is at the window's corner, where the map is now.
    await page.evaluate(`document.querySelector('.stage').style = 'position: fixed; inset: 0;'`);
    await atRest(page, "[innerWidth, innerHeight]");
    const { left, top, width, height } = await mapBox(page);
    assert.deepEqual([left, top], [0, 0]);
    const scale = 12;
    const { x, y } = cellOf(best);
    const at = { x: x + (width / 2 - 6) / scale, y: y + (height / 2 - 6) / scale };
    await page.evaluate(`location.hash = '#${at.x},${at.y},${scale}'`);
    await page.until("the map there", `${LIST}.includes('${best.host.replace(/^www\./, "")}')`);
    const isAtCorner = (one) => one.left < 0 && one.top < 0 && one.right > 0 && one.bottom > 0;
    assert.ok((await drawn(page)).some(isAtCorner));
  });

  test("another colour scheme draws all pictures again", async () => {
    const { page } = await visit();
    await page.until("landmarks", "window.drawn.length > 2");
    await drawn(page);
    await page.evaluate("window.written = []");
    await page.call("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: "dark" }],
    });
    await page.until("all again", "window.written.length >= window.drawn.length");
  });

  test("a click opens the card of the site, and its address leads there again", async () => {
    const { page } = await visit();
    await page.until("landmarks", "window.drawn.length > 2");
    const [first] = await drawn(page);
    const canvas = await mapBox(page);
    const at = middle(first);
    await page.pointAt(canvas.left + at.x, canvas.top + at.y);
    await page.until("its name", "document.querySelector('#map').title !== ''");
    const name = await page.evaluate("document.querySelector('#map').title");
    assert.ok(name.endsWith(first.name.replace("…", "")), name);
    assert.equal(await page.evaluate("document.querySelector('#map').className"), "choosable");
    await page.click(canvas.left + at.x, canvas.top + at.y);
    await page.until("the card", `${CARD_HOST}.endsWith(${JSON.stringify(name)})`);
    const host = await page.evaluate(CARD_HOST);
    const card = await page.evaluate(
      "document.querySelector('#tab-card').getBoundingClientRect().toJSON()");
    assert.ok(card.left >= canvas.left + first.right || card.right <= canvas.left + first.left,
      "the card is next to it");
    await atRest(page);
    assert.equal(await page.evaluate("location.hash"), `#site=${host}`);
    assert.equal(await page.evaluate(MESSAGE), "");
    await page.reload();
    await page.until("the card again", `${CARD_HOST} === '${host}'`);
    assert.deepEqual(page.troubles, []);
  });

  test("a chosen landmark does not count as found, a site that is found by name does", async () => {
    const [other] = places;
    const one = places.find((place) => {
      const { x, y } = cellOf(place);
      return place !== other && x > 40 && y > 40 && x < side * grid - 40 && y < side * grid - 40;
    });
    const { x, y } = cellOf(one);
    const { page } = await visit(`#${x},${y},12`);
    await page.until("the list", `${LIST}.length > 5`);
    await page.evaluate("document.querySelector('#map').focus()");
    await page.key("Enter");
    await page.until("the card", `${CARD_HOST} === '${one.host}'`);
    await page.evaluate(`location.hash = '#site=${other.host}'`);
    const found = "JSON.parse(sessionStorage.getItem('visit'))?.found";
    await page.until("the count", `${found}?.includes('${other.host}')`);
    assert.deepEqual(await page.evaluate(found), [other.host]);
    assert.deepEqual(page.troubles, []);
  });

  test("a tap on a phone opens the card, and the card does not cover the landmark", async () => {
    const { page } = await visit("", { view: PHONE });
    await page.until("landmarks", "window.drawn.length > 2");
    const boxes = await drawn(page, 2);
    const lowest = boxes.toSorted((a, b) => b.top - a.top)[0];
    const canvas = await mapBox(page);
    const [x, y] = [canvas.left + middle(lowest).x / 2, canvas.top + middle(lowest).y / 2];
    await page.call("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
    await page.call("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await page.until("the card", `${CARD_HOST} !== ''`);
    const after = (await drawn(page, 2)).find(({ name }) => name === lowest.name);
    const top = await page.evaluate(
      "document.querySelector('#tab-card').getBoundingClientRect().top");
    assert.ok(!after || canvas.top + after.bottom / 2 <= top, JSON.stringify([after, top]));
  });

  test("Enter opens the landmark in the middle, the list opens each by its button", async () => {
    const one = places.find((place) => {
      const { x, y } = cellOf(place);
      return Math.abs(x - side * grid / 2) < 30 && Math.abs(y - side * grid / 2) < 30;
    });
    const { x, y } = cellOf(one);
    const { page } = await visit(`#${x},${y},12`);
    await page.until("the list", `${LIST}.length > 5`);
    assert.match(await page.evaluate("document.querySelector('#hint').textContent"),
      /^The most-linked websites in view\./);
    await page.evaluate("document.querySelector('#map').focus()");
    await page.key("Enter");
    await page.until("the card", `${CARD_HOST} === '${one.host}'`);
    await page.key("Escape");
    await page.until("the map", `${CARD_HOST} === '' && document.activeElement.id === 'map'`);
    const name = await page.evaluate(`(() => {
      const button = document.querySelectorAll('#tabs button')[3];
      button.focus();
      button.click();
      return button.textContent;
    })()`);
    await page.until("its card", `${CARD_HOST}.endsWith('${name}')`);
    await page.key("Escape");
    await page.until("the button again", "document.activeElement.closest('#tabs')");
    await page.evaluate(`location.hash = '#${x},${y},40'`);
    await page.until("a bundle's tabs", `${SEEN}.startsWith('Block') && ${LIST}.length > 50`);
    await page.evaluate("document.querySelector('#all').click()");
    await page.until("landmarks", `${SEEN}.startsWith('All') && ${LIST}.length === 40`);
    assert.equal((await page.evaluate(LIST))[0], places[0].host.replace(/^www\./, ""));
    assert.deepEqual(page.troubles, []);
  });

  test("a map without landmarks, or whose file is missing or damaged, is complete", async () => {
    const without = await visit("", { site: withMap(sampleSite({ bundles: 400 })) });
    await atRest(without.page);
    assert.ok(!without.server.asked.some((path) => path.includes("landmarks")));
    for (const answer of [{ status: 404 }, { status: 503 }, { status: 200, body: "" }, "drop",
      { status: 200, body: "<!doctype html>\t\t\t\t\n\u0000".repeat(99) }]) {
      const { page, server } = await visit("", {
        replace: (path) => (path.endsWith("landmarks.tsv") ? answer : null),
      });
      await page.until("a request", "performance.getEntriesByType('resource')" +
        ".some(({ name }) => name.endsWith('landmarks.tsv'))");
      await atRest(page);
      assert.ok(server.asked.some((path) => path.endsWith("landmarks.tsv")));
      assert.deepEqual(await page.evaluate(`[window.drawn.length, ${LIST}.length, ${MESSAGE}]`),
        [0, 0, ""]);
      assert.match(await page.evaluate("document.querySelector('#hint').textContent"),
        /^Zoom in until/);
      await visits.leave();
    }
  });

  test("the map's search corrects, explains, closes with Escape and has history", async () => {
    const lines = {
      "7/index.tsv": "github.com\n",
      "7/0.tsv": `github.com\t${places[0].bundle}\t${places[0].slot}\n`,
      "7/best/_top.tsv": `github.com\t${places[0].bundle}\t${places[0].slot}\t20\n`,
    };
    const site = {
      ...sample,
      manifest: { ...sample.manifest, search: { best: true, words: false } },
      search: (name) => lines[name] ?? (name.endsWith("_top.tsv") ? "" : sample.search(name)),
    };
    const { page } = await visit("", { site, view: PHONE });
    const type = async (text) => {
      await page.evaluate("{ const [find] = document.forms; find[0].focus(); find[0].select(); }");
      await page.call("Input.insertText", { text });
    };
    await type("githbu");
    await page.until("a guess", `${FOUND}[0] === 'github.com' && ${STATUS}.startsWith('Did you')`);
    await page.key("Escape");
    await page.until("no list", `${FOUND}.length === 0 || document.querySelector('#found').hidden`);
    assert.equal(await page.evaluate("document.activeElement.id"), "site");
    await type("nobody-has-this.example");
    await page.until("the words", `${STATUS}.includes('Is this your website?')`);
    assert.ok(await page.evaluate("(({ scrollWidth, clientWidth }) => " +
      "scrollWidth <= clientWidth)(document.querySelector('#found-status'))"), "no word is cut");
    await page.key("Escape");
    await page.until("no words", `${STATUS} === ''`);
    const { host } = places[1];
    await type(host);
    await page.until("a name", `${FOUND}.length > 0`);
    await page.key("Enter");
    await page.until("the card", `${CARD_HOST} === '${host}'`);
    await page.evaluate("document.querySelector('#site').focus()");
    await page.key("Escape");
    await page.key("Escape");
    await page.until("no card", `${CARD_HOST} === ''`);
    await page.back();
    await page.until("the whole", `location.hash === '' && ${SEEN}.startsWith('All')`);
    await page.evaluate("history.forward()");
    await page.until("the site", `${CARD_HOST} === '${host}'`);
    assert.deepEqual(page.troubles, []);
  });
});
