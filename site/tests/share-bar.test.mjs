// The bar that offers to share, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, FILLED, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
/** Small bundles, so that the first rows show several. */
const [BUNDLES, TABS] = [100, 24];
const CALM = { media: { "prefers-reduced-motion": "reduce" } };
const BAR = "document.querySelector('.share-bar:not([hidden])')";
const WORDS = `(${BAR}?.querySelector('p').textContent ?? '')`;
const ACTION = `${BAR}.querySelector('button')`;
/** Chips of groups outside the first and the last bundle, whose numbers are never rounded. */
const CHIP = `[...document.querySelectorAll('.has-group .chip')].find((chip) => {
  const tab = Number(/-(\\d+)\\./.exec(chip.closest('.tab').href)?.[1]);
  return tab >= ${TABS} && tab < ${(BUNDLES - 1) * TABS};
})`;
/** The share sheet is open until `window.closeSheet` is called. */
const HELD_SHEET = `Object.defineProperty(navigator, 'share', {
  value: () => new Promise((_, reject) => {
    window.closeSheet = () => reject(new DOMException('closed', 'AbortError'));
  }),
})`;

/** Records the texts of all status elements in bar and card as `window.said`. */
const RECORD_SAID = `(() => {
  window.said = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const status = target.closest?.(':is(.share-bar, dialog) [role=status]');
      if (status?.textContent) window.said.push(status.textContent);
    }
  }).observe(document, { childList: true, subtree: true });
})()`;

describe("the bar that offers to share", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);
  const domains = ["com", "com", "org"];
  const sample = sampleSite({ bundles: BUNDLES, tabsABundle: TABS, domains });
  const late = (ms) => Object.fromEntries(
    Array.from({ length: BUNDLES }, (_, bundle) => [`t/${bundle}.html`, ms]));
  const visit = async (options = {}) => {
    const visited = await visits.visit(sample, { view: CALM, ...options });
    await visited.page.until("a group", CHIP);
    return visited;
  };

  test("a share sheet that closes late does not change what another site's bar says", async () => {
    const { page } = await visit();
    const host = await page.evaluate(`(() => {
      window.chip = ${CHIP};
      window.chip.click();
      return new URL(window.chip.closest('.tab').href).hostname;
    })()`);
    await page.until("the group's bar", `${WORDS}.startsWith('Group ')`);
    await page.evaluate(HELD_SHEET);
    await page.evaluate(`${ACTION}.click()`);
    await page.until("the sheet", "window.closeSheet");
    await page.evaluate(`location.hash = '#seed=7&site=${host}'`);
    const name = host.replace(/^www\./, "");
    await page.until("the site's bar", `${WORDS}.startsWith('${name} is tab ')`);
    const words = await page.evaluate(WORDS);
    await page.evaluate("window.closeSheet()");
    assert.equal(await atRest(page, WORDS), words);
    assert.equal(await page.evaluate(`${ACTION}.textContent`), "Show its card");
    assert.deepEqual(page.troubles, []);
  });

  test("a number that is loaded late does not change what a group's bar says", async () => {
    const { page, server } = await visit({ late: late(3_000) });
    const host = await page.evaluate(`new URL(${CHIP}.closest('.tab').href).hostname`);
    await page.evaluate(`location.hash = '#seed=7&site=${host}'`);
    await page.until("the site's bar", `${WORDS}.includes(' is around tab ')`);
    const chip = "document.querySelector('.tab.found .chip')";
    await page.until("its chip", chip);
    await page.evaluate(`${chip}.click()`);
    await page.until("the group's bar", `${WORDS}.startsWith('Group ')`);
    await page.until("the late page", `performance.getEntriesByType('resource')
      .some(({ name, responseEnd }) => /\\/t\\/\\d+\\.html$/.test(name) && responseEnd > 0)`);
    assert.match(await atRest(page, WORDS), /^Group /);
    assert.ok(server.asked.some((path) => path.startsWith("/t/")));
    assert.deepEqual(page.troubles, []);
  });

  const found = async (bundle, options) => {
    const host = new URL(sample.bundle(bundle).entries[5].url).hostname;
    const name = host.replace(/^www\./, "");
    const { page } = await visits.visit(sample, {
      view: CALM, hash: `#seed=7&site=${host}`, until: BAR, ...options,
      prepare: (one) => one.call("Page.addScriptToEvaluateOnNewDocument", { source: RECORD_SAID }),
    });
    return { page, name };
  };
  const HEADING = "document.querySelector('dialog[open] h2')?.textContent.replace(/\\s+/g, ' ')";

  test("the bar and the card announce a number once: the exact one if there is one", async () => {
    const { page, name } = await found(40, { late: late(3_000) });
    const exact = `${name} is tab 966 of 2,400`;
    const estimate = await page.evaluate(WORDS);
    assert.match(estimate, / is around tab /);
    await page.evaluate(`${ACTION}.click()`);
    await page.until("the card", `${HEADING} === ${JSON.stringify(estimate)}`);
    assert.deepEqual(await page.evaluate("window.said"), []);
    await page.until("the number", `${HEADING} === '${exact}' && ${WORDS} === '${exact}'`);
    assert.deepEqual(await page.evaluate("window.said"), [exact, exact]);
    assert.equal(await page.evaluate("document.activeElement.tagName"), "H2");
    // A heading that does not change is read when it gets the focus.
    await page.key("Escape");
    await page.evaluate(`${ACTION}.click()`);
    await page.until("the card again", `${HEADING} === '${exact}'`);
    await atRest(page, WORDS);
    assert.equal((await page.evaluate("window.said")).length, 2);
    assert.deepEqual(page.troubles, []);
  });

  test("an estimate is announced if there is no exact number", async () => {
    const { page } = await found(40, {
      replace: (path) => (path.startsWith("t/") ? { status: 404 } : null),
    });
    await page.until("the words", "window.said.length > 0");
    await atRest(page, WORDS);
    assert.deepEqual(await page.evaluate("window.said"), [await page.evaluate(WORDS)]);
    assert.match(await page.evaluate(WORDS), / is around tab /);
  });

  test("in the last bundle the number is the one of the link page after a takedown", async () => {
    const hosts = BUNDLES * TABS - 3;
    const rest = { ...sample, manifest: { ...sample.manifest, hosts } };
    const host = new URL(sample.bundle(BUNDLES - 1).entries[5].url).hostname;
    const { page } = await visits.visit(rest, {
      view: CALM, hash: `#seed=7&site=${host}`, until: BAR,
    });
    await page.until("the number", `${WORDS}.endsWith(' is tab 2,382 of 2,397')`);
    await page.evaluate(`${ACTION}.click()`);
    await page.until("the card's", `${HEADING}?.endsWith(' is tab 2,382 of 2,397')`);
  });
});
