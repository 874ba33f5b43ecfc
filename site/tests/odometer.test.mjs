// The count of seen tabs in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, FILLED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const COUNT = "parseInt(document.querySelector('.seen-count')?.textContent.replaceAll(',', ''))";
const IN_VIEW = `(() => {
  const edge = document.querySelector('#header').getBoundingClientRect().bottom;
  return [...document.querySelectorAll('.row:not([hidden]) .tab[href]')].filter((tab) => {
    const { left, right } = tab.getBoundingClientRect();
    const row = tab.closest('.row').getBoundingClientRect();
    const middle = (left + right) / 2;
    const from = Math.max(row.top, edge);
    return Math.min(row.bottom, innerHeight) - from > row.height / 2 && middle > 0 &&
      middle < document.querySelector('#wall').clientWidth;
  }).map((tab) => new URL(tab.href).hostname);
})()`;
const PHONE = { width: 390, height: 844, phone: true, scale: 2 };
const CALM = { media: { "prefers-reduced-motion": "reduce" } };
const COMPLETE = `${FILLED} && !document.querySelector('.row:not([hidden]) .coming:not([hidden])')`;

describe("the count of seen tabs", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const sample = sampleSite({ bundles: 80 });

  test("each tab that was in view is counted once, and the count outlives a reload", async () => {
    const { page } = await visits.visit(sample, { view: CALM });
    const seen = new Set();
    for (const px of [0, 400, 400, -400, 900, -1_300, 2_000]) {
      await scrollBy(page, px);
      await page.until("the tabs", COMPLETE);
      for (const host of await page.evaluate(IN_VIEW)) seen.add(host);
      await page.until(`${seen.size} after ${px}`, `${COUNT} === ${seen.size}`);
      assert.equal(await atRest(page, COUNT), seen.size, `${px}`);
    }
    await page.reload();
    await page.until("the same count", `${COMPLETE} && ${COUNT} === ${seen.size}`);
    assert.equal(await atRest(page, COUNT), seen.size);
    assert.deepEqual(page.troubles, []);
  });

  test("the count is shown again after a reload, before anything new is seen", async () => {
    const { page } = await visits.visit(sample);
    await page.until("the count", `${COUNT} > 80`);
    await page.evaluate("document.querySelector('#motion').click()");
    await page.reload();
    await page.until("the tabs", FILLED);
    await page.until("the count", `${COUNT} > 80 &&
      document.querySelector('.seen-count').checkVisibility()`);
  });

  test("the count is that of the tabs in view also where tabs are closed", async () => {
    const { page } = await visits.visit(sample, { view: CALM });
    await page.until("the count", `${COMPLETE} && ${COUNT} > 80`);
    const seen = new Set(await page.evaluate(IN_VIEW));
    await page.until(`${seen.size}`, `${COUNT} === ${seen.size}`);
    await page.evaluate(`document.querySelector('.row .tab[href]').focus()`);
    for (let step = 0; step < 2; step += 1) await page.key("Delete");
    await atRest(page, COUNT);
    await scrollBy(page, 500);
    await page.until("the tabs", COMPLETE);
    for (const host of await page.evaluate(IN_VIEW)) seen.add(host);
    await page.until(`${seen.size}`, `${COUNT} === ${seen.size}`);
    assert.equal(await atRest(page, COUNT), seen.size);
  });

  test("the count says its share of the web, beside what this is or in its place", async () => {
    const { page } = await visits.visit(sample);
    const text = await page.until("the count", `${COUNT} > 80 &&
      document.querySelector('.seen-count').textContent`);
    assert.match(text, /^\d+ tabs seen: [12](?:\.\d)?% of this page$/);
    assert.equal(await page.evaluate("document.querySelector('.motto').checkVisibility()"), true);
    const phone = await visits.visit(sample, { view: PHONE });
    await phone.page.until("the count", `${COUNT} > 20`);
    const motto = "document.querySelector('.motto').getBoundingClientRect().width > 100";
    assert.equal(await phone.page.evaluate(motto), true, "at the top it says what this is");
    await scrollBy(phone.page, 900);
    await phone.page.until("more", `${COUNT} > 40`);
    const seen = await phone.page.evaluate(`(() => {
      const box = document.querySelector('.seen-count').getBoundingClientRect();
      const bar = document.querySelector('#bar').getBoundingClientRect();
      return [document.querySelector('.motto').checkVisibility(),
        box.right <= innerWidth && box.bottom <= bar.bottom + 1];
    })()`);
    assert.deepEqual(seen, [false, true]);
  });

  test("what the pace says stays in its place while the count grows", async () => {
    const { page } = await visits.visit(sample);
    await page.until("the count", `${COUNT} > 80`);
    const lefts = await page.evaluate(`(() => {
      const [count, pace] = ['.seen-count', '.seen-pace']
        .map((name) => document.querySelector(name));
      pace.textContent = 'At this pace the rest takes 14 minutes.';
      const texts = ['1 tab seen: 0.0000033% of this page', '99 tabs seen: 1% of this page',
        '1,234 tabs seen: 0.0041% of this page', '9,876,543 tabs seen: 33% of this page'];
      return texts.map((text) => {
        count.textContent = text;
        return [pace.checkVisibility(), pace.getBoundingClientRect().left];
      });
    })()`);
    assert.deepEqual(lefts, lefts.map(() => [true, lefts[0][1]]));
  });

  test("far down, a sentence compares the way, and screen readers hear it", async () => {
    const { page } = await visits.visit(sample);
    await page.until("the count", `${COUNT} > 80`);
    await page.evaluate(`new MutationObserver(() => (window.saidAt ??= performance.now()))
      .observe(document.querySelector('.seen-status'), { childList: true })`);
    for (let step = 0; step < 4; step += 1) await scrollBy(page, 500);
    await page.until("the sentence", "document.querySelector('.telling')");
    const said = await page.evaluate(`(() => {
      const [sentence, status] = ['.seen-sentence', '.seen-status']
        .map((one) => document.querySelector(one));
      return [sentence.textContent, sentence.checkVisibility(), status.textContent,
        status.getAttribute('role'), document.querySelector('.seen-count').checkVisibility()];
    })()`);
    const words = "Half a metre down. The whole wall is 13 metres tall.";
    assert.deepEqual(said, [words, true, words, "status", false]);
    // Even if the next height is reached quickly, it is announced only ten seconds later.
    await page.evaluate(`(() => {
      window.told = [];
      new MutationObserver(() => window.told.push(performance.now()))
        .observe(document.querySelector('.seen-status'), { childList: true });
    })()`);
    await page.until("the next sentence", `(window.scrollBy(0, scrollY < 7_000 ? 600 : 60),
      window.told.length > 0)`);
    const waited = await page.evaluate("window.told.at(-1) - window.saidAt");
    assert.ok(waited >= 9_990, `${waited}`);
  });

  test("with reduced motion the number stands while the page scrolls", async () => {
    const { page } = await visits.visit(sample, { view: CALM });
    await page.until("the count", `${COUNT} > 80`);
    const changes = await page.evaluate(`new Promise((done) => {
      let changes = 0;
      let frames = 0;
      const observer = new MutationObserver(() => (changes += 1));
      observer.observe(document.querySelector('.seen'), { childList: true, subtree: true });
      const step = () => {
        window.scrollBy(0, 50);
        frames += 1;
        if (frames < 60) requestAnimationFrame(step);
        else done(changes);
      };
      requestAnimationFrame(step);
    })`);
    assert.equal(changes, 0);
    const before = await page.evaluate(COUNT);
    await page.until("the new number", `${COUNT} > ${before}`);
    await page.until("the sentence", "document.querySelector('.telling')");
    // The sentence would disappear after ten seconds, but the page scrolls for longer.
    const kept = await page.evaluate(`new Promise((done) => {
      const until = performance.now() + 11_000;
      const step = (now) => {
        window.scrollBy(0, Math.floor(now / 500) % 2 ? 5 : -5);
        if (now < until) requestAnimationFrame(step);
        else done(document.querySelector('.telling') !== null);
      };
      requestAnimationFrame(step);
    })`);
    assert.equal(kept, true);
    await page.until("the number again", "!document.querySelector('.telling')");
  });

  test("the count can be switched off, until the tab of the browser is closed", async () => {
    const { page } = await visits.visit(sample);
    await page.until("the count", `${COUNT} > 80`);
    await page.evaluate("document.querySelector('.seen-off').click()");
    assert.equal(await page.evaluate("document.querySelector('.seen')"), null);
    await page.reload();
    await page.until("the tabs", FILLED);
    await scrollBy(page, 500);
    await atRest(page);
    assert.equal(await page.evaluate("document.querySelector('.seen')"), null);
    assert.deepEqual(page.troubles, []);
  });

  test("whatever is in the session's storage, the page can be used", async () => {
    const { page } = await visits.visit(sample);
    const scan = JSON.stringify(sample.prefix);
    for (const text of ["{", "7", "[]", `{"scan":${scan},"bundles":[5]}`,
      `{"scan":${scan},"bundles":[[1,"x"],[2,-3],null]}`]) {
      const { identifier } = await page.call("Page.addScriptToEvaluateOnNewDocument", {
        source: `for (const key of ['everytab-seen', 'closed', 'left', 'skin', 'chosen-skin']) {
          sessionStorage.setItem(key, window.garbage = ${JSON.stringify(text)});
        }`,
      });
      await page.reload();
      await page.until(`the count after ${text}`,
        `window.garbage === ${JSON.stringify(text)} && ${COUNT} > 20`);
      await page.call("Page.removeScriptToEvaluateOnNewDocument", { identifier });
      await page.until("dives", "!document.querySelector('#dive').disabled");
    }
    assert.deepEqual(page.troubles, []);
  });
});
