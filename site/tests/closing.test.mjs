// Closing and reopening tabs in a real browser.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { until } from "./patience.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, clickOn, FILLED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const ROW = 4;
const TABS = `[...document.querySelectorAll('.row')[${ROW}].querySelectorAll('.tab[href]')]
  .filter((tab) => !tab.hidden)
  .map((tab) => ({ href: tab.href, left: Math.round(tab.getBoundingClientRect().left) }))
  .sort((a, b) => a.left - b.left)`;
const STOPPED = `document.querySelectorAll('.row')[${ROW}]
  .getAnimations({ subtree: true }).length === 0`;
const BAR = "document.querySelector('.closing-bar:not([hidden]) p')?.textContent";
const SHOWN = `[...document.querySelectorAll('.row')]
  .filter((row) => row.getBoundingClientRect().top < innerHeight - 10)
  .flatMap((row) => [...row.querySelectorAll('.tab[href]:not([hidden])')]).map(String).sort()`;
const sameTabs = async (page, wanted) => {
  let shown = "";
  await until("the same tabs", async () => {
    shown = JSON.stringify(await page.evaluate(SHOWN).catch(() => []));
    return shown === wanted;
  }, () => {
    const [before, now] = [wanted, shown].map((json) => JSON.parse(json));
    const less = (one, other) => one.filter((href) => !other.includes(href)).join(" ");
    return `: not ${less(before, now)} but ${less(now, before)}, ${before.length} ${now.length}`;
  });
};
const pressBar = (page, number) =>
  page.evaluate(`[...document.querySelectorAll('.closing-bar button')].at(${number}).click()`);

describe("closing tabs", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const visit = (view = {}, more = {}) =>
    visits.visit(sampleSite({ bundles: 40 }), { view, until: FILLED, ...more });
  const tabs = (page) => page.evaluate(TABS);
  /**
   * Hovers the cross of a tab near the middle of the row. If possible, three more tabs are between
   * this tab and the "+", because the "+" moves with the tabs.
   */
  const pointAtCross = async (page, side = "right") => {
    const y = await page.evaluate(
      `document.querySelectorAll('.row')[${ROW}].getBoundingClientRect().top + 20`);
    const find = (x) => `(() => {
      const after = (tab) => [...tab.parentNode.querySelectorAll('.tab[href]:not([hidden])')]
        .filter((other) => tab.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
      const tabs = [0, 40, -40, 200, -200, 400, -400, 550, -550]
        .map((by) => document.elementFromPoint(${x} + by, ${y})?.closest('.tab')).filter(Boolean);
      const tab = tabs.find((one) => after(one).length >= 3) ?? tabs[0];
      const { left, right } = tab.getBoundingClientRect();
      return { x: ${side === "left"} ? left + 14 : right - 14, y: ${y}, href: tab.href };
    })()`;
    const middle = await page.evaluate("innerWidth / 2");
    await page.pointAt(middle, y);
    await page.until("a stopped row", STOPPED);
    const at = await page.evaluate(find(middle));
    await page.pointAt(at.x, at.y);
    return at;
  };

  test("the cross closes, the next one comes below it, then tabs fill the row", async () => {
    const { page } = await visit();
    const before = await page.evaluate(SHOWN);
    const at = await pointAtCross(page);
    const gone = [];
    for (let number = 1; number <= 3; number += 1) {
      const row = await tabs(page);
      const wanted = await page.evaluate(`document.elementFromPoint(${at.x}, ${at.y})
        .closest('.tab').href`);
      await page.click(at.x, at.y);
      gone.push(wanted);
      await page.until("one tab less", `${TABS}.length === ${row.length - 1} && ${STOPPED}`);
      const now = await tabs(page);
      const place = row.findIndex(({ href }) => href === wanted);
      assert.equal(now.find(({ href }) => href === row[place + 1].href).left, row[place].left);
      assert.deepEqual(now.filter(({ left }) => left >= 0 && left < row[place].left).length,
        row.filter(({ left }) => left >= 0 && left < row[place].left).length);
      assert.equal(await page.evaluate(BAR),
        `You have closed ${number}. ${(4_800 - number).toLocaleString("en")} to go.`);
    }
    await page.pointAt(600, 20);
    await page.until("wider tabs, at rest", `${TABS}[3].left - ${TABS}[2].left > 200 &&
      document.getAnimations().every((one) => one.effect.target.className === 'track')`);
    const wide = await tabs(page);
    const width = Math.min(...wide.slice(1).map(({ left }, i) => left - wide[i].left));
    // One gap may be wider, because it contains the "+".
    const isEven = ({ left }, i) => left - wide[i].left - width <= 35;
    assert.ok(wide.length > 5 && wide.slice(1).every(isEven), JSON.stringify(wide));
    assert.ok(wide[0].left <= 34 && wide.at(-1).left + width >= 1_226, JSON.stringify(wide));
    const left = await page.evaluate(SHOWN);
    assert.deepEqual(left, before.filter((href) => !gone.includes(href)));
    assert.equal(await page.evaluate("document.querySelector('#site').hidden"), true);
    assert.deepEqual(page.troubles, []);
  });

  test("Undo, Ctrl+Z and Shift+T bring the last one back, each in its place", async () => {
    const { page } = await visit();
    const before = await page.evaluate(SHOWN);
    const at = await pointAtCross(page);
    for (let number = 1; number <= 3; number += 1) {
      await page.click(at.x, at.y);
      await page.until("its end", `${BAR}?.startsWith('You have closed ${number}.') && ${STOPPED}`);
    }
    await pressBar(page, 0);
    await page.until("two", `${BAR}.startsWith('You have closed 2.')`);
    await page.evaluate("document.activeElement.blur()");
    const press = (key, code, modifiers) => page.key(key, code, { modifiers });
    await press("z", "KeyZ", 2);
    await page.until("one", `${BAR}.startsWith('You have closed 1.')`);
    await press("T", "KeyT", 8);
    await page.until("all", `${BAR} === 'All tabs are open again.'`);
    assert.deepEqual(await page.evaluate(SHOWN), before);
    assert.equal(await page.evaluate(
      "document.querySelectorAll('.closing-bar button')[0].disabled"), true);
    assert.deepEqual(page.troubles, []);
  });

  test("Delete, Backspace and w close a tab, and the focus goes to the next", async () => {
    const { page } = await visit();
    await page.evaluate("document.querySelector('.row .tab[tabindex=\"0\"]').focus()");
    await page.key("ArrowRight");
    for (const key of ["Delete", "Backspace", "w"]) {
      const [mine, next] = await page.evaluate(`[document.activeElement,
        document.activeElement.nextSibling].map(String)`);
      await page.key(key);
      await page.until("the next", `document.activeElement.href === ${JSON.stringify(next)} &&
        !document.querySelector('.row .tab[href=${JSON.stringify(mine)}]:not([hidden])')`);
    }
    const here = await page.evaluate("document.activeElement.href");
    await page.key("ArrowLeft");
    await page.key("ArrowRight");
    assert.equal(await page.evaluate("document.activeElement.href"), here);
    await page.until("the announcement", `document.querySelector('main > [role=status].unseen')
      .textContent.startsWith('You have closed')`);
    assert.deepEqual(page.troubles, []);
  });

  for (const view of [{}, PHONE]) {
    const name = view.phone ? "a phone" : "a desktop";
    test(`a reload, another page and Back show the same wall, on ${name}`, async () => {
      const { page, server } = await visit(view);
      for (let number = 1; number <= 2; number += 1) {
        const { x, y } = await pointAtCross(page);
        await page.click(x, y);
        await page.until("its end", `${BAR}?.startsWith('You have closed ${number}.')`);
      }
      const left = JSON.stringify(await page.evaluate(SHOWN));
      await page.reload();
      await page.until("tabs", FILLED);
      await sameTabs(page, left);
      await page.until("the bar, to bring them back", `${BAR}?.startsWith('You have closed 2.')`);
      await page.open(`${server.url}about.html`);
      await page.until("another page", "document.title.includes('About')");
      await page.back();
      await page.until("tabs", FILLED);
      await sameTabs(page, left);
      await page.evaluate("document.querySelector('#shuffle').click()");
      await page.until("another wall", "location.hash !== '#seed=7'");
      await page.until("all of its tabs", `${FILLED} && document.querySelector('.row')
        .querySelectorAll('.tab[href]:not([hidden])').length >= 4`);
      await page.back();
      await sameTabs(page, left);
      assert.deepEqual(page.troubles, []);
    });
  }

  test("a site that is named by the address is there, closed or not", async () => {
    const { page } = await visit();
    const { x, y, href } = await pointAtCross(page);
    const host = new URL(href).hostname;
    await page.click(x, y);
    await page.until("its end", `${BAR}?.startsWith('You have closed 1.')`);
    // The page writes its own address whenever it comes to rest.
    await page.reload(() => page.evaluate(
      `history.replaceState(null, "", "#seed=7&site=${host}"); location.reload()`));
    await page.until("the tab", `document.querySelector('.tab.found')?.href ===
      ${JSON.stringify(href)}`);
  });

  test("the cross of the open tab closes its site, in Safari's style at its left", async () => {
    for (const [hash, side] of [["#seed=7", "right"], ["#seed=7&skin=safari", "left"]]) {
      const { page } = await visit({}, { hash });
      const count = (await page.evaluate(SHOWN)).length;
      await clickOn(page, ".row .tab[href]:not(.outside)");
      await page.until("the site", `document.querySelector('#site').dataset.state === 'shown' &&
        !document.querySelector('#wall.making-room')`);
      const at = await page.evaluate(`(() => {
        const { left, right, top } = document.querySelector('.tab.opened').getBoundingClientRect();
        return { x: ${side === "left"} ? left + 14 : right - 14, y: top + 15 };
      })()`);
      await page.pointAt(at.x, at.y);
      await page.click(at.x, at.y);
      await page.until("the wall", `document.querySelector('#site').hidden &&
        !location.hash.includes('open')`);
      await page.until("rows at rest", "!document.querySelector('#wall.making-room')");
      assert.equal((await page.evaluate(SHOWN)).length, count, "its tab stays");
      const closing = await pointAtCross(page, side);
      await page.click(closing.x, closing.y);
      await page.until("its end", `${BAR}?.startsWith('You have closed 1.')`);
      await visits.leave();
    }
  });

  test("a whole row can be closed, and brought back", async () => {
    const { page } = await visit(PHONE);
    // Rows are sorted in the document once nothing is painted.
    await atRest(page, "[...document.querySelectorAll('.row')].map((row) => row.style.transform)");
    const before = await tabs(page);
    for (let number = 1; number <= before.length; number += 1) {
      await page.evaluate(`(() => {
        const tab = document.querySelectorAll('.row')[${ROW}].querySelector('.tab:not([hidden])');
        tab.focus();
        tab.dispatchEvent(new KeyboardEvent('keydown', { key: 'Delete', bubbles: true }));
      })()`);
      await page.until("one less", `${TABS}.length === ${before.length - number}`);
    }
    await scrollBy(page, 200);
    for (let number = before.length - 1; number >= 0; number -= 1) {
      await pressBar(page, 0);
      const words = number === 0 ? "All tabs are open again." : `You have closed ${number}.`;
      await page.until("one more", `${BAR}.startsWith('${words}')`);
    }
    const hrefs = (list) => list.map(({ href }) => href).sort();
    await page.until("the row", `${TABS}.length === ${before.length}`);
    assert.deepEqual(hrefs(await tabs(page)), hrefs(before));
    assert.deepEqual(page.troubles, []);
  });

  const closeByKey = async (page) => {
    await page.evaluate("document.querySelector('.row .tab[tabindex=\"0\"]').focus()");
    await page.key("Delete");
  };

  test("the bar is loaded at the first closing, and says what is so when it comes", async () => {
    const late = { "js/closing-bar.js": 1_500 };
    const { page, server } = await visit({}, { late });
    assert.ok(!server.asked.some((path) => path.includes("closing-bar")));
    for (let number = 1; number <= 3; number += 1) await closeByKey(page);
    await page.key("z", "KeyZ", { modifiers: 2 });
    await page.until("the bar", `${BAR}?.startsWith('You have closed 2.')`);
    assert.equal(server.asked.filter((path) => path.includes("closing-bar")).length, 1);
    assert.deepEqual(page.troubles, []);
  });

  test("tabs are closed and brought back where the bar cannot be loaded", async () => {
    const replace = (path) => (path === "js/closing-bar.js" ? "drop" : null);
    const { page, server } = await visit({}, { replace });
    const before = await page.evaluate(SHOWN);
    await closeByKey(page);
    await page.until("one less", `${SHOWN}.length === ${before.length - 1}`);
    await closeByKey(page);
    await page.until("two less", `${SHOWN}.length === ${before.length - 2}`);
    for (let number = 1; number <= 2; number += 1) await page.key("z", "KeyZ", { modifiers: 2 });
    await page.until("all", `JSON.stringify(${SHOWN}) === ${JSON.stringify(
      JSON.stringify(before))}`);
    assert.ok(server.asked.some((path) => path.includes("closing-bar")));
    assert.ok(page.troubles.every((trouble) => trouble.startsWith("Failed to load")),
      page.troubles.join());
  });

  test("when a whole row is closed by keys, the Tab key still leads to a tab", async () => {
    const { page } = await visit(PHONE);
    const stop = "document.querySelectorAll('.row .tab[tabindex=\"0\"]:not([hidden])').length";
    const left = () => page.evaluate(`(() => {
      const top = (row) => row.getBoundingClientRect().top;
      window.middle ??= [...document.querySelectorAll('.row:not([hidden])')]
        .sort((a, b) => top(a) - top(b)).find((_, i, rows) => i === rows.length >> 1);
      const tabs = [...window.middle.querySelectorAll('.tab:not([hidden])')];
      tabs[0]?.focus();
      tabs[0]?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Delete', bubbles: true }));
      return tabs.length;
    })()`);
    let tabsLeft = await left();
    assert.ok(tabsLeft > 1);
    while (tabsLeft > 0) tabsLeft = await left();
    await page.until("the focus on the wall", "document.activeElement.id === 'wall'");
    assert.equal(await page.evaluate(stop), 1);
    assert.deepEqual(page.troubles, []);
  });

  test("closing all asks, empties the wall, and opens all again", async () => {
    const { page } = await visit();
    const { x, y } = await pointAtCross(page);
    await page.click(x, y);
    await page.until("the bar", `${BAR}?.startsWith('You have closed 1.')`);
    const left = await page.evaluate(SHOWN);
    const isEmpty = "document.querySelector('#wall').inert";
    await pressBar(page, -1);
    await page.until("the question", `document.querySelector('dialog[open] h2')?.textContent ===
      'Do you want to close 4,799 tabs?'`);
    await page.key("Escape");
    await page.until("no question", "!document.querySelector('dialog[open]')");
    assert.equal(await page.evaluate(isEmpty), false);
    for (const way of ["document.querySelector('.no-tabs button').click()",
      "document.querySelector('#dive').click()"]) {
      await pressBar(page, -1);
      await page.until("the question", "document.querySelector('dialog[open]')");
      await page.evaluate("document.querySelector('dialog button:last-child').click()");
      await page.until("the empty wall", `${isEmpty} && document.querySelector('.no-tabs')
        .textContent.startsWith('All 4,799 tabs are closed.') &&
        getComputedStyle(document.querySelector('.row')).opacity === '0'`);
      assert.deepEqual(await page.evaluate(`[...document.querySelectorAll('.foot')].map((foot) =>
        getComputedStyle(foot).visibility)`), ["hidden", "hidden"]);
      assert.equal(await page.evaluate("getComputedStyle(document.documentElement).overflowY"),
        "hidden");
      await page.evaluate(way);
      await page.until("all tabs", `!${isEmpty} &&
        getComputedStyle(document.querySelector('.row')).opacity === '1'`);
    }
    await page.until("a site", "!document.querySelector('#site').hidden");
    await page.key("Escape");
    await page.until("the wall", `document.querySelector('#site').hidden &&
      !document.querySelector('#wall.making-room')`);
    await page.evaluate("window.scrollTo(0, 0)");
    await sameTabs(page, JSON.stringify(left));
    assert.deepEqual(page.troubles, []);
  });
});
