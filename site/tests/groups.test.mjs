// Tab groups in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { groupOfRow } from "../js/tab-groups.js";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, clickOn, FILLED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const DOMAINS = ["com", "com", "com", "org", "jp", "xn--p1ai"];
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const CALM = { "prefers-reduced-motion": "reduce" };
const CHIP = ".has-group .chip";
const READY = `${FILLED} && document.querySelector('${CHIP}') &&
  !document.querySelector('.row:not([hidden]) .coming:not([hidden])') &&
  [...document.styleSheets].some((one) => one.href?.endsWith('/interaction.css'))`;
const GROUPS = `[...document.querySelectorAll('.row.has-group:not([hidden])')].map((row) => {
  const tabs = [...row.querySelectorAll('.tab[href]:not([hidden])')];
  const inGroup = tabs.filter((tab) => tab.classList.contains('in-group'));
  return {
    chip: row.querySelector('.chip').textContent,
    isFirst: inGroup[0].querySelector('.chip') !== null,
    columns: inGroup.map((tab) => tabs.indexOf(tab)),
    domains: inGroup.map((tab) => new URL(tab.href).hostname.split('.').at(-1)),
    hrefs: tabs.map(String),
  };
})`;
const AIMED = `(${GROUPS})[[...document.querySelectorAll('.row.has-group:not([hidden])')]
  .indexOf(window.aimedRow ??= window.aimed.closest('.row'))]`;
const key = (name) => `document.activeElement.dispatchEvent(
  new KeyboardEvent('keydown', { key: '${name}', bubbles: true, cancelable: true }))`;
const SHOWS_SITE = "!document.querySelector('#site').hidden";

test("a row's group is a run of one domain, of a rarer one before .com, and not the row", () => {
  const group = (...domains) => groupOfRow(domains, 0);
  assert.deepEqual(group("com", "com", "com", "jp", "jp", "org"), { at: 3, count: 2 });
  assert.deepEqual(group("org", "com", "com", "com", "com", "com"), { at: 1, count: 4 });
  assert.deepEqual(group("jp", "jp", "de", "de", "de"), { at: 2, count: 3 });
  assert.equal(group("com", "jp", "com"), null);
  assert.equal(group("com", "com", "com"), null);
  assert.equal(group(), null);
  assert.equal(groupOfRow(["com", "com", "jp"], 2 ** 32 - 1), null);
});

describe("tab groups", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const visit = async (view = {}) => {
    const visited = await visits.visit(sampleSite({ bundles: 40, domains: DOMAINS }),
      { view, until: READY });
    await atRest(visited.page, `(${GROUPS}).length`);
    return visited;
  };

  test("some rows have one: neighbours of one domain, a line, a chip with its name", async () => {
    const { page } = await visit({ media: CALM });
    const groups = await page.evaluate(GROUPS);
    const rows = await page.evaluate("document.querySelectorAll('.row:not([hidden])').length");
    const { length } = groups;
    assert.ok(length > rows / 6 && length < rows / 1.7, `${length} of ${rows}`);
    for (const { chip, isFirst, columns, domains } of groups) {
      assert.ok(isFirst && columns.length >= 2 && columns.length <= 4);
      assert.ok(columns.every((column, i) => column === columns[0] + i), columns.join());
      assert.equal(new Set(domains).size, 1);
      assert.equal(chip, `.${domains[0] === "xn--p1ai" ? "рф" : domains[0]}`);
    }
    const tab = "document.querySelector('.has-group .in-group')";
    assert.match(await page.evaluate(`getComputedStyle(${tab}).borderImageSource`), /gradient/);
    await page.until("a description", `${tab}.ariaDescription?.includes(', group .')`);
    assert.deepEqual(page.troubles, []);
  });

  for (const [name, view] of [["a mouse", {}], ["a phone", PHONE]]) {
    test(`the chip collapses the group and expands it again: ${name}`, async () => {
      const { page } = await visit(view);
      await clickOn(page, CHIP);
      await page.until("a collapsed group", `/ \\+[123]$/.test(window.aimed.textContent)`);
      const collapsed = await page.evaluate(AIMED);
      const left = await page.evaluate("window.aimed.getBoundingClientRect().left");
      const hidden = Number(collapsed.chip.split("+")[1]);
      assert.equal(collapsed.columns.length, 1);
      assert.equal(await page.evaluate(SHOWS_SITE), false);
      // The bar does not count these tabs, because they are not closed.
      assert.equal(await page.evaluate("document.querySelector('.closing-bar')"), null);
      await page.evaluate(`window.aimed.dispatchEvent(new MouseEvent('click', { bubbles: true }))`);
      await page.until("an expanded group", "!window.aimed.textContent.includes('+')");
      const expanded = await page.evaluate(AIMED);
      assert.equal(expanded.hrefs.length, collapsed.hrefs.length + hidden);
      assert.equal(expanded.columns.length, 1 + hidden);
      assert.deepEqual(expanded.hrefs.filter((href) => collapsed.hrefs.includes(href)),
        collapsed.hrefs);
      const now = await page.evaluate("window.aimed.getBoundingClientRect().left");
      if (name === "a mouse") assert.ok(Math.abs(now - left) < 3, `${left} ${now}`);
      assert.deepEqual(page.troubles, []);
    });
  }

  test("the key g does it too, says so, and keeps the focus in the group", async () => {
    const { page } = await visit({ media: CALM });
    await page.evaluate(`(() => {
      window.aimed = document.querySelector('.has-group .chip');
      [...window.aimed.closest('.row').querySelectorAll('.in-group')].at(-1).focus();
    })()`);
    const before = await page.evaluate(AIMED);
    await page.evaluate(key("g"));
    const status = "document.querySelector('main p.unseen[role=status]').textContent";
    assert.match(await page.evaluate(status), /^Group \.\S+ collapsed$/);
    const after = await page.evaluate(AIMED);
    assert.equal(after.hrefs.length, before.hrefs.length - before.columns.length + 1);
    assert.ok(await page.evaluate(`document.activeElement.contains(window.aimed)`));
    await page.until("the words",
      "document.activeElement.ariaDescription.includes(', collapsed, ')");
    await page.evaluate(key("ArrowRight"));
    const next = await page.evaluate("document.activeElement.href");
    assert.equal(next, after.hrefs[after.columns[0] + 1] ?? next);
    await page.evaluate(key("ArrowLeft"));
    await page.evaluate(key("g"));
    assert.match(await page.evaluate(status), /^Group \.\S+ expanded$/);
    assert.deepEqual((await page.evaluate(AIMED)).hrefs, before.hrefs);
    await page.evaluate("document.querySelector('.row:not(.has-group) .tab[href]').focus()");
    await page.evaluate(key("g"));
    assert.match(await page.evaluate(status), /expanded$/);
  });

  test("closing the first tab of a collapsed group shows the others, which stay closed if closed",
    async () => {
      const { page } = await visit({ media: CALM });
      await page.evaluate(`(() => {
        const row = [...document.querySelectorAll('.row.has-group')]
          .find((one) => one.querySelectorAll('.in-group').length > 2);
        window.aimed = row.querySelector('.chip');
        row.querySelectorAll('.in-group')[1].focus();
      })()`);
      const before = await page.evaluate(AIMED);
      await page.evaluate(key("Delete"));
      await page.evaluate(`window.aimed.dispatchEvent(new MouseEvent('click', { bubbles: true }))`);
      await page.evaluate("window.aimed.closest('.tab').focus()");
      await page.evaluate(key("Delete"));
      const gone = [before.columns[0], before.columns[1]];
      const left = before.hrefs.filter((_, column) => !gone.includes(column));
      const isRow = (hrefs) =>
        `JSON.stringify((${AIMED})?.hrefs) === ${JSON.stringify(JSON.stringify(hrefs))}`;
      await page.until("all but two", isRow(left));
      assert.match(await page.evaluate("document.querySelector('.closing-bar p').textContent"),
        /closed 2\./);
      await page.evaluate("document.activeElement.blur()");
      const undo = "document.querySelector('.closing-bar button').click()";
      await page.evaluate(undo);
      await page.evaluate(undo);
      await page.until("the group as it was", isRow(before.hrefs));
      assert.deepEqual(page.troubles, []);
    });

  test("a row that shows other tabs shows no chip of those before", async () => {
    const { page } = await visit({ media: CALM });
    for (let times = 0; times < 12; times += 1) {
      await scrollBy(page, 900);
      const wrong = await page.evaluate(`(${GROUPS}).filter(({ domains, chip, isFirst }) =>
        !isFirst || new Set(domains).size !== 1 ||
        (domains[0] === 'xn--p1ai' ? '.рф' : '.' + domains[0]) !== chip)`);
      assert.deepEqual(wrong, []);
    }
    await page.until("chips of these rows", `[...document.querySelectorAll('${CHIP}')]
      .some((chip) => chip.checkVisibility() && chip.getBoundingClientRect().top > 100)`);
  });

  test("another layout shows the tabs of collapsed groups again", async () => {
    const { page } = await visit({ media: CALM });
    await page.evaluate(`document.querySelectorAll('${CHIP}').forEach((chip) =>
      chip.dispatchEvent(new MouseEvent('click', { bubbles: true })))`);
    assert.ok((await page.evaluate(GROUPS)).every(({ chip }) => chip.includes("+")));
    await page.evaluate(`(() => {
      const select = document.querySelector('#skin');
      select.value = 'firefox';
      select.dispatchEvent(new Event('change'));
      // The next frame hides the groups of the former layout.
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    })()`);
    await page.until("groups again", `(${GROUPS}).length > 2`);
    const groups = await page.evaluate(GROUPS);
    assert.ok(groups.every(({ chip, columns }) => !chip.includes("+") && columns.length > 1));
  });
});
