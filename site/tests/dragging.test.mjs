// Rows that the visitor moves by mouse, touch and wheel, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { until } from "./patience.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const READY = `${FILLED} &&
  [...document.styleSheets].some((one) => one.href?.endsWith('/interaction.css'))`;
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const ROW = 5;
/** This compares the whole seed, because a new wall's seed is the current time. */
const ELSEWHERE = "!/^#seed=7(?:&|$)/.test(location.hash)";
/** A tap that had no effect after this time was not recognized. */
const LOST_TAP_MS = 10_000;
const TRACK = `(() => {
  const row = document.querySelectorAll('.row')[${ROW}];
  const lefts = [...row.querySelectorAll('.tab:not([hidden])')]
    .map((tab) => tab.getBoundingClientRect().left).sort((a, b) => a - b);
  const width = row.querySelector('.tab').getBoundingClientRect().width;
  return {
    shift: new DOMMatrix(getComputedStyle(row.querySelector('.track')).transform).e,
    width,
    full: lefts[0] <= 34.5 && lefts.at(-1) + width >= innerWidth - 54 &&
      lefts.slice(1).filter((left, i) => Math.abs(left - lefts[i] - width) > 0.6)
        .every((_, i, gaps) => gaps.length === 1) &&
      lefts.slice(1).every((left, i) => left - lefts[i] - width < 35),
    count: lefts.length,
    plus: document.documentElement.dataset.device === 'phone' ? 0 : 34,
  };
})()`;

describe("rows that are moved", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const visit = (view = {}) => visits.visit(sampleSite({ bundles: 40 }), { view, until: READY });
  const track = (page) => page.evaluate(TRACK);
  const middleOfRow = (page) => page.evaluate(`(() => {
    const box = document.querySelectorAll('.row')[${ROW}].getBoundingClientRect();
    return { x: 600, y: box.top + box.height / 2 };
  })()`);
  const moved = (from, to) => {
    const cycle = from.count * from.width + from.plus;
    const by = (((to.shift - from.shift) % cycle) + cycle) % cycle;
    return by > cycle / 2 ? by - cycle : by;
  };
  const mouse = (page, type, x, y, more = {}) => page.call("Input.dispatchMouseEvent", {
    type, x, y, button: "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1, ...more,
  });
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  /**
   * The events' timestamps contain a rest before the release, unless `isThrow`, and do not depend
   * on when the events arrive.
   */
  const drag = async (page, { x, y }, byPx, isThrow = false) => {
    await page.pointAt(x, y);
    await page.until("a stopped row", `document.querySelectorAll('.row')[${ROW}]
      .getAnimations({ subtree: true }).length === 0`);
    const before = await track(page);
    const begun = Date.now();
    const at = (ms) => ({ timestamp: (begun + ms) / 1_000 });
    await mouse(page, "mousePressed", x, y, at(0));
    for (let step = 1; step <= 10; step += 1) {
      await mouse(page, "mouseMoved", x + byPx * step / 10, y, at(5 * step));
    }
    const dragged = await track(page);
    await mouse(page, "mouseReleased", x + byPx, y, at(isThrow ? 55 : 250));
    return { before, dragged };
  };
  const swipe = async (page, at, byX, byY) => {
    const touch = (type, touchPoints) =>
      page.call("Input.dispatchTouchEvent", { type, touchPoints });
    await touch("touchStart", [at]);
    for (let step = 1; step <= 15; step += 1) {
      await touch("touchMove", [{ x: at.x + byX * step / 15, y: at.y + byY * step / 15 }]);
      await pause(16);
    }
    await touch("touchEnd", []);
    await pause(150);
  };
  const isClosed = (page) => page.evaluate("document.querySelector('#site').hidden");

  test("a row follows the mouse, stays full, and no site opens", async () => {
    const { page } = await visit();
    const at = await middleOfRow(page);
    const address = await page.evaluate("location.hash");
    for (const byPx of [170, -500, 700]) {
      const { before, dragged } = await drag(page, { ...at, x: byPx > 0 ? 200 : 1_000 }, byPx);
      assert.ok(Math.abs(moved(before, dragged) - byPx) < 1.5,
        `${byPx}: ${JSON.stringify([before, dragged])}`);
      assert.ok(dragged.full, JSON.stringify(dragged));
      assert.ok(Math.abs(moved(dragged, await track(page))) < 1, "it stays where it is released");
    }
    assert.deepEqual([await isClosed(page), await page.evaluate("location.hash")], [true, address]);
    assert.equal((await visits.browser.call("Target.getTargets")).targetInfos
      .filter(({ type, openerId }) => type === "page" && openerId).length, 0, "no new tab");
    await page.pointAt(600, 20);
    await page.until("its motion goes on", `document.querySelectorAll('.row')[${ROW}]
      .getAnimations({ subtree: true }).length === 1`);
    assert.deepEqual(page.troubles, []);
  });

  test("a press that hardly moves is a click", async () => {
    const { page } = await visit();
    const at = await middleOfRow(page);
    await page.pointAt(at.x, at.y);
    await page.until("a stopped row", `document.querySelectorAll('.row')[${ROW}]
      .getAnimations({ subtree: true }).length === 0`);
    const x = await page.evaluate(`(() => {
      const tab = [...document.querySelectorAll('.row')[${ROW}]
        .querySelectorAll('.tab[href]:not(.outside)')]
        .find((one) => one.getBoundingClientRect().left > 20);
      return tab.getBoundingClientRect().left + 60;
    })()`);
    await mouse(page, "mousePressed", x, at.y);
    await mouse(page, "mouseMoved", x + 3, at.y);
    await mouse(page, "mouseReleased", x + 3, at.y);
    await page.until("the site", "!document.querySelector('#site').hidden");
  });

  test("a thrown row moves on and stops, and less motion means none", async () => {
    for (const isCalm of [false, true]) {
      const media = isCalm ? { "prefers-reduced-motion": "reduce" } : {};
      const { page } = await visit({ media });
      const { dragged } = await drag(page, await middleOfRow(page), 300, true);
      const by = async () => moved(dragged, await track(page));
      if (!isCalm) await until("a moving row", async () => (await by()) > 20);
      await pause(150);
      if (isCalm) assert.ok(Math.abs(await by()) < 1, `${await by()}`);
      let last = await track(page);
      await page.until("a stopped row", `(() => {
        const same = window.lastShift === ${TRACK}.shift;
        window.lastShift = ${TRACK}.shift;
        return same;
      })()`);
      last = await track(page);
      assert.ok(last.full, JSON.stringify(last));
    }
  });

  test("a paused wall can be dragged, too", async () => {
    const { page } = await visit();
    await page.evaluate("document.querySelector('#motion').click()");
    await page.until("stopped rows", "document.getAnimations().length === 0");
    const { before, dragged } = await drag(page, await middleOfRow(page), 250);
    assert.ok(Math.abs(moved(before, dragged) - 250) < 1.5);
  });

  test("the wheel moves the row sideways: its own, or with the shift key", async () => {
    const { page } = await visit();
    const at = await middleOfRow(page);
    await page.pointAt(at.x, at.y);
    await page.until("a stopped row", `document.querySelectorAll('.row')[${ROW}]
      .getAnimations({ subtree: true }).length === 0`);
    for (const wheel of [{ deltaX: 200, deltaY: 0 }, { deltaX: 0, deltaY: 200, modifiers: 8 }]) {
      const before = await track(page);
      await page.call("Input.dispatchMouseEvent", { type: "mouseWheel", ...at, ...wheel });
      await page.until("movement", `Math.abs(${TRACK}.shift - ${before.shift}) > 1`);
      await pause(100);
      const after = await track(page);
      assert.ok(Math.abs(moved(before, after) + 200) < 2, JSON.stringify([before, after]));
      assert.ok(after.full);
      await page.evaluate("window.scrollTo(0, 0)");
      await pause(300);
    }
  });

  test("Home and End lead to the first and last tab that are seen whole", async () => {
    const { page } = await visit();
    await drag(page, await middleOfRow(page), 330);
    await page.evaluate(`[...document.querySelectorAll('.row')[${ROW}].querySelectorAll('.tab')]
      .find((tab) => tab.getBoundingClientRect().left > 300).focus()`);
    const edges = await page.evaluate(`(() => {
      const seen = [...document.querySelectorAll('.row')[${ROW}]
        .querySelectorAll('.tab:not([hidden])')]
        .map((tab) => ({ href: tab.href, box: tab.getBoundingClientRect() }))
        .filter(({ box }) => box.left > -1 && box.right < document.querySelector('#wall')
          .clientWidth + 1)
        .sort((a, b) => a.box.left - b.box.left);
      return [seen[0].href, seen.at(-1).href];
    })()`);
    for (const [key, href] of [["Home", edges[0]], ["End", edges[1]], ["Home", edges[0]]]) {
      await page.key(key);
      assert.equal(await page.evaluate("document.activeElement.href"), href, key);
    }
  });

  test("on a phone a swipe moves the row, and up and down the page scrolls", async () => {
    const { page } = await visit(PHONE);
    const at = { ...(await middleOfRow(page)), x: 300 };
    const before = await track(page);
    await swipe(page, at, -200, 0);
    const after = await track(page);
    assert.ok(moved(before, after) < -150, JSON.stringify([before, after]));
    assert.equal(await page.evaluate("scrollY"), 0);
    assert.ok(after.full, JSON.stringify(after));
    assert.equal(await isClosed(page), true);
    await swipe(page, at, 0, -250);
    await page.until("a page that has scrolled", "scrollY > 200");
    assert.equal(await isClosed(page), true);
    assert.deepEqual(page.troubles, []);
  });

  // A finger that moved sends no click, so the next click belongs to another tap.
  test("after a swipe a tap on a control works", async () => {
    const { page } = await visit(PHONE);
    // On a busy host a tap may last too long to be recognized, so each attempt starts with a swipe.
    await until("another wall", async () => {
      await swipe(page, { ...(await middleOfRow(page)), x: 300 }, -200, 0);
      const at = await page.evaluate(`(() => {
        const { left, top } = document.querySelector('#shuffle').getBoundingClientRect();
        return { x: left + 10, y: top + 10 };
      })()`);
      await Promise.all([
        page.call("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [at] }),
        page.call("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] }),
      ]);
      const end = Date.now() + LOST_TAP_MS;
      while (!await page.evaluate(ELSEWHERE)) {
        if (Date.now() > end) return false;
        await pause(50);
      }
      return true;
    });
  });

  test("after a swipe a control works by the keyboard", async () => {
    const { page } = await visit(PHONE);
    await swipe(page, { ...(await middleOfRow(page)), x: 300 }, -200, 0);
    await page.evaluate("document.querySelector('#shuffle').focus()");
    await page.key("Enter");
    await page.until("another wall", ELSEWHERE);
  });

  test("a thrown row that is caught opens nothing, and then a click works", async () => {
    const { page } = await visit();
    const { x, y } = await middleOfRow(page);
    await page.evaluate("window.clicks = 0; window.addEventListener('click', () => clicks += 1)");
    const counts = await page.evaluate(`(() => {
      let ms = 0;
      const send = (type, clientX, button = 0, buttons = 1) => {
        const event = new PointerEvent(type, {
          clientX, clientY: ${y}, button, buttons, pointerId: 1, isPrimary: true, bubbles: true,
        });
        Object.defineProperty(event, 'timeStamp', { value: ms += 5 });
        document.elementFromPoint(${x}, ${y}).dispatchEvent(event);
      };
      const click = () => document.elementFromPoint(${x}, ${y}).closest('.row').dispatchEvent(
        new MouseEvent('click', { detail: 1, bubbles: true, cancelable: true }));
      const counts = [];
      for (const end of ['pointerup', 'pointercancel']) {
        send('pointerdown', 200);
        for (let to = 300; to <= 800; to += 100) send('pointermove', to, -1);
        send('pointerup', 800, 0, 0);
        click();
        counts.push(window.clicks);
        send('pointerdown', 800);
        send(end, 800, 0, 0);
        click();
        counts.push(window.clicks);
      }
      return counts.join();
    })()`);
    assert.equal(counts, "0,0,0,1");
  });

  test("a press that ends beside the wall, or that nothing ends, releases its row", async () => {
    const { page } = await visit();
    const at = await middleOfRow(page);
    const isMoving = (row) => `document.querySelectorAll('.row')[${row}]
      .getAnimations({ subtree: true }).length === 1`;
    for (const isReleased of [true, false]) {
      await page.pointAt(at.x, at.y);
      await page.until("a stopped row", `!(${isMoving(ROW)})`);
      await mouse(page, "mousePressed", at.x, at.y);
      await mouse(page, "mouseMoved", at.x + 2, 20);
      if (isReleased) await mouse(page, "mouseReleased", at.x + 2, 20);
      const before = await track(page);
      await page.pointAt(at.x, at.y);
      await page.pointAt(at.x + 150, at.y);
      assert.ok(Math.abs(moved(before, await track(page))) < 1, "it follows no button");
      assert.equal(await page.evaluate("document.querySelector('#wall.dragged')"), null);
      await page.pointAt(600, 20);
      await page.until("its motion goes on", isMoving(ROW));
      if (!isReleased) await mouse(page, "mouseReleased", 600, 20);
    }
  });

  test("a press that another one follows releases its row", async () => {
    const { page } = await visit();
    await page.evaluate(`[3, 5].forEach((row, i) => document.querySelectorAll('.row')[row]
      .dispatchEvent(new PointerEvent('pointerdown',
        { button: 0, buttons: 1, pointerId: 1 + i, isPrimary: true, bubbles: true })))`);
    await page.evaluate(`document.querySelectorAll('.row')[5].dispatchEvent(new PointerEvent(
      'pointerup', { pointerId: 2, isPrimary: true, bubbles: true }))`);
    for (const row of [3, 5]) {
      await page.until(`motion of ${row}`, `document.querySelectorAll('.row')[${row}]
        .getAnimations({ subtree: true }).length === 1`);
    }
  });
});
