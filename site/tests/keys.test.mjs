// Keys that are told by the page, and keys that do not surprise, in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const LIST = "document.querySelector('.key-list[open]')";
const QUESTION_MARK = { key: "?", code: "Slash", modifiers: 8, windowsVirtualKeyCode: 191 };
const CLOSED = "document.querySelector('.closing-bar:not([hidden])')";
const TAB_STOP = "document.querySelector('.row .tab[tabindex=\"0\"]')";
const IN_VIEW = `(() => {
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  const { bottom: headerEnd } = document.querySelector('#header').getBoundingClientRect();
  return document.activeElement.matches('.row .tab') && top >= headerEnd && bottom <= innerHeight;
})()`;

describe("keys", { skip: program ? false : "no chromium is installed", concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  const pressQuestionMark = async (page) => {
    await page.call("Input.dispatchKeyEvent", { type: "keyDown", text: "?", ...QUESTION_MARK });
    await page.call("Input.dispatchKeyEvent", { type: "keyUp", ...QUESTION_MARK });
  };

  test("a button and ? show all keys, and Escape closes the list before the site", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.until("the button", "!document.querySelector('#key-list').disabled");
    await page.evaluate("document.querySelector('#key-list').click()");
    await page.until("the list", LIST);
    const words = await page.evaluate(`${LIST}.innerText`);
    for (const key of ["Delete", "Backspace", "Space", "G", "Ctrl+Z", "Enter", "Esc", "Home"]) {
      assert.ok(words.includes(key), key);
    }
    await page.evaluate(`${LIST}.querySelector('button').click()`);
    await page.until("no list", `!${LIST}`);
    await page.evaluate("document.querySelector('.row .tab[href]:not(.outside)').click()");
    await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
    await pressQuestionMark(page);
    await page.until("the list", LIST);
    await page.key("Escape");
    await page.until("no list", `!${LIST}`);
    assert.equal(await page.evaluate("document.querySelector('#site').hidden"), false);
    await page.key("Escape");
    await page.until("no site", "document.querySelector('#site').hidden");
    assert.deepEqual(page.troubles, []);
  });

  test("on a phone the list starts at its top, and no action is a narrow column", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }),
      { view: { width: 360, height: 640, phone: true } });
    await page.until("the button", "!document.querySelector('#key-list').disabled");
    await page.evaluate("document.querySelector('#key-list').click()");
    await page.until("the list", LIST);
    assert.deepEqual(await page.evaluate(`[${LIST}.scrollTop, document.activeElement.tagName,
      [...${LIST}.querySelectorAll('dd')].every((one) => one.clientWidth > 200)]`),
    [0, "H2", true]);
  });

  test("a ? in the search field is typed", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.until("the button", "!document.querySelector('#key-list').disabled");
    await page.evaluate("document.querySelector('#find').focus()");
    await pressQuestionMark(page);
    await page.until("a character", "document.querySelector('#find').value === '?'");
    assert.equal(await page.evaluate(LIST), null);
  });

  test("the card of a focused tab names its keys, that of a hovered tab does not", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.until("the button", "!document.querySelector('#key-list').disabled");
    await page.key("Tab");
    await page.evaluate(`${TAB_STOP}.focus()`);
    await page.key("ArrowRight");
    await page.until("the keys", `document.querySelector('.card:not([hidden])')?.innerText
      .includes('Delete closes it')`);
    const at = await page.evaluate(`(() => {
      const { top, height } = document.querySelector('.row:nth-child(4)').getBoundingClientRect();
      return top + height / 2;
    })()`);
    await page.pointAt(300, at);
    await page.until("another card", `document.querySelector('.card:not([hidden])') &&
      !document.querySelector('.card').innerText.includes('Delete')`);
  });

  test("Delete does not close a tab that was scrolled out of view, but shows it", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.until("the button", "!document.querySelector('#key-list').disabled");
    await page.evaluate("document.querySelector('.row .tab[href]').focus()");
    const before = await page.evaluate("document.activeElement.href");
    // Further away the focus moves to the wall, because the tab's node is used for another.
    await scrollBy(page, 150);
    await page.until("another place", `!${IN_VIEW}`);
    await page.key("Delete");
    await page.until("the tab in view", IN_VIEW);
    assert.equal(await page.evaluate("document.activeElement.href"), before);
    assert.equal(await page.evaluate(CLOSED), null);
    await page.key("Delete");
    await page.until("a closed tab", CLOSED);
    assert.notEqual(await page.evaluate("document.activeElement.href"), before);
    await page.evaluate(`${CLOSED}.querySelector('button').click()`);
    await page.until("the words", `${CLOSED}.innerText.includes('All tabs are open again.')`);
    assert.equal(await page.evaluate(FILLED), true);
    assert.deepEqual(page.troubles, []);
  });
  test("Escape in the map's search field closes the card", async () => {
    const sample = withMap(sampleSite({ bundles: 20 }));
    const { hostname } = new URL(sample.bundle(3).entries[5].url);
    const { page } = await visits.visit(sample, {
      path: `map.html#site=${hostname}`, until: "!document.querySelector('#tab-card').hidden",
    });
    // Even a fast key closes it.
    await page.evaluate(`(() => {
      const field = document.querySelector('#site');
      field.focus();
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    })()`);
    await page.until("no card", "document.querySelector('#tab-card').hidden");
    assert.deepEqual(page.troubles, []);
  });
});
