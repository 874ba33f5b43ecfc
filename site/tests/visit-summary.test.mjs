// The summary of a visit in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, FILLED, MISPLACED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const CALM = { "prefers-reduced-motion": "reduce" };
const OPEN = "document.querySelector('.card-dialog[open]')";
const COUNT = "parseInt(document.querySelector('.seen-count')?.textContent.replaceAll(',', ''))";
const SUMMARY = `(() => {
  const text = (one) => one.textContent.replace(/\\s+/g, ' ');
  return {
    heading: text(${OPEN}.querySelector('h2')),
    rest: ${OPEN}.querySelector('.card-rest')?.textContent ?? '',
    facts: [...${OPEN}.querySelectorAll('.card-facts li')].map(text),
  };
})()`;
const barButton = (at) => `[...document.querySelectorAll('.closing-bar button')].at(${at})`;

describe("the summary of a visit", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);
  const visit = (view = {}, options = {}) =>
    visits.visit(sampleSite({ bundles: 40 }), { view: { media: CALM, ...view }, ...options });
  const closeTabs = async (page, number) => {
    await page.evaluate("document.querySelector('.row .tab[tabindex=\"0\"]').focus()");
    for (let i = 0; i < number; i += 1) await page.key("Delete");
    await page.until("the bar", `document.querySelector('.closing-bar:not([hidden]) p')
      ?.textContent.startsWith('You have closed ${number}.')`);
  };
  const openFrom = async (page, button) => {
    await page.evaluate(`${button}.focus()`);
    await page.key("Enter");
    await page.until("the summary", OPEN);
    return page.evaluate(SUMMARY);
  };

  test("it counts tabs closed and seen, sites found and opened, also after a reload", async () => {
    const { page } = await visit();
    await page.until("the count", `${COUNT} > 50`);
    await closeTabs(page, 3);
    const host = await page.evaluate(`(() => {
      const tab = document.querySelector('.row .tab[href]:not(.outside, [hidden])');
      const { hostname } = new URL(tab.href);
      tab.click();
      return hostname;
    })()`);
    await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
    await page.key("Escape");
    await page.until("the wall", `document.querySelector('#site').hidden &&
      !location.hash.includes('open')`);
    await atRest(page);
    await page.evaluate(`location.hash = '#site=${host}'`);
    await page.until("the found tab", "document.querySelector('.share-bar:not([hidden])')");
    await page.until("a long wall", "document.querySelector('#wall').offsetHeight > 2_500");
    await scrollBy(page, 1_500);
    await atRest(page, COUNT);
    const check = async () => {
      const { heading, rest, facts } =
        await openFrom(page, "document.querySelector('.share-wall')");
      assert.deepEqual([heading, rest], ["You closed 3 tabs", "4,797 to go."]);
      assert.match(facts[0], /^\d+ tabs seen: \d+% of this page$/);
      await page.until("the same count in the header", `${COUNT} === ${parseInt(facts[0], 10)}`);
      assert.deepEqual(facts.slice(1, 3), ["1 website found", "1 website opened"]);
      assert.match(facts.at(-1), /^0\.[56]\d* metres down$/);
      assert.equal(facts.length, 4);
    };
    await check();
    await page.key("Escape");
    await page.until("no summary", `!${OPEN}`);
    assert.equal(await page.evaluate("document.activeElement.className"), "share-wall");
    await page.reload();
    await page.until("the tabs", `${FILLED} && ${COUNT} > 50`);
    await check();
    assert.deepEqual(page.troubles, []);
  });

  test("what was shared counts, and the text has the numbers", async () => {
    const { page, server } = await visit();
    await page.evaluate(`Object.defineProperty(navigator, 'share', {
      value: async (what) => { window.shared = what; }, configurable: true })`);
    await closeTabs(page, 2);
    const { facts } = await openFrom(page, barButton(1));
    assert.ok(!facts.some((fact) => fact.startsWith("Shared")));
    await page.evaluate(`${OPEN}.querySelector('.main').click()`);
    await page.until("the sheet", "window.shared");
    assert.deepEqual(await page.evaluate("window.shared"), {
      title: "EveryTab", text: "You closed 2 tabs. 4,798 to go.", url: `${server.url}#seed=7`,
    });
    await page.key("Escape");
    await page.until("no summary", `!${OPEN}`);
    assert.ok((await openFrom(page, barButton(1))).facts.includes("Shared once"));
  });

  for (const [width, scheme] of [[320, "dark"], [390, "light"], [1_440, "dark"]]) {
    test(`it is reached from the empty wall, and fits: ${width} px, ${scheme}`, async () => {
      const phone = width < 1_000;
      const media = { ...CALM, "prefers-color-scheme": scheme };
      const { page } = await visit({ width, height: 700, phone, media });
      await closeTabs(page, 1);
      assert.deepEqual((await page.evaluate(MISPLACED)).cut, []);
      await page.evaluate(`${barButton(-1)}.click()`);
      await page.until("the question", "document.querySelector('.question[open]')");
      await page.evaluate("document.querySelector('.question button:last-child').click()");
      await page.until("the empty wall", "document.querySelector('#wall').inert");
      const share = "[...document.querySelectorAll('.no-tabs button')].at(-1)";
      const { heading, rest } = await openFrom(page, share);
      assert.deepEqual([heading, rest], ["You closed 4,800 tabs", "None to go."]);
      const { wide, cut } = await page.evaluate(MISPLACED);
      assert.deepEqual([wide, cut], [false, []]);
      await page.key("Escape");
      await page.until("no summary", `!${OPEN}`);
      assert.ok(await page.evaluate(`document.querySelector('#wall').inert &&
        document.activeElement === ${share}`));
      await page.key("Escape");
      await page.until("the tabs", "!document.querySelector('#wall').inert");
      assert.deepEqual(page.troubles, []);
    });
  }

  test("nothing appears by itself, and without a count the summary leaves it out", async () => {
    const { page, server } = await visit();
    await page.until("the count", `${COUNT} > 50`);
    await scrollBy(page, 2_000);
    await atRest(page, COUNT);
    assert.equal(await page.evaluate(`document.querySelector('dialog')`), null);
    const isCard = (path) =>
      /\/(?:\w+-card|card-\w+|visit-summary|share-dialog|share-bar)\.js$/.test(path);
    assert.deepEqual(server.asked.filter(isCard), ["/js/hover-card.js"]);
    await page.evaluate("document.querySelector('.seen-off').click()");
    const { heading, rest, facts } =
      await openFrom(page, "document.querySelector('.share-wall')");
    assert.deepEqual([heading, rest, facts], ["This wall has 4,800 tabs", "", []]);
  });

  test("the picture has the numbers and the icons in view", async () => {
    const { page } = await visit();
    await closeTabs(page, 2);
    await openFrom(page, barButton(1));
    await page.evaluate(`(() => {
      const { createObjectURL } = URL;
      URL.createObjectURL = (blob) => {
        window.picture = blob;
        return createObjectURL.call(URL, blob);
      };
      HTMLAnchorElement.prototype.click = function () { window.pictureName = this.download; };
      [...${OPEN}.querySelectorAll('button')].find((one) => one.textContent === 'Save picture')
        .click();
    })()`);
    await page.until("the picture", "window.pictureName");
    assert.deepEqual(await page.evaluate(`(async () => {
      const bitmap = await createImageBitmap(window.picture);
      const context = Object.assign(document.createElement('canvas'),
        { width: bitmap.width, height: bitmap.height })
        .getContext('2d', { willReadFrequently: true });
      context.drawImage(bitmap, 0, 0);
      const coloursIn = (x, y, width, height) => {
        const { data } = context.getImageData(x, y, width, height);
        return new Set(new Uint32Array(data.buffer)).size;
      };
      const cells = Array.from({ length: 25 }, (_, at) =>
        coloursIn(72 + (at % 5) * 80, 156 + Math.floor(at / 5) * 80, 80, 80));
      return [window.pictureName, bitmap.width, bitmap.height, cells.every((found) => found > 1),
        coloursIn(544, 132, 608, 390) > 10, coloursIn(1152, 90, 48, 540)];
    })()`), ["everytab-visit.png", 1_200, 630, true, true, 1]);
    assert.deepEqual(page.troubles, []);
  });
});
