// Accessibility in a real browser: the rules of axe and html-validate, descriptions, contrast.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, PAGES, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const SITE = fileURLToPath(new URL("../", import.meta.url));
const PACKAGES = `${process.env.EVERYTAB_NODE ?? `${SITE}../target/node`}/node_modules`;
const AXE = `${PACKAGES}/axe-core/axe.min.js`;
const withoutPackages = existsSync(AXE) ? false : `no ${AXE}; scripts/install/test.sh`;
const SKINS = ["chrome", "edge", "firefox", "safari"];
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const CALM = { "prefers-reduced-motion": "reduce" };
const VIEWS = [
  [[360, 780], "dark", {}],
  [[1440, 900], "light", {}],
  [[1440, 900], "dark", {}],
  [[1440, 900], "dark", { "forced-colors": "active" }],
];
const setSkin = (skin) => `(() => {
  const select = document.querySelector('#skin');
  select.value = '${skin}';
  select.dispatchEvent(new Event('change'));
})()`;
const setTyped = (text) => `(() => {
  const input = document.querySelector('#find');
  input.focus();
  input.value = '${text}';
  input.dispatchEvent(new Event('input'));
})()`;
const pressKey = (key) => `document.activeElement.dispatchEvent(
  new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true }))`;
const STATES = [
  ["wall", "", FILLED],
  ...SKINS.map((skin) => [skin, setSkin(skin), FILLED]),
  ["groups", "", "document.querySelector('.has-group .chip')"],
  ["collapsed", "document.querySelector('.has-group .chip').click()",
    "document.querySelector('.has-group .chip').textContent.includes('+')"],
  ["open", "document.querySelector('.row .tab[href]:not(.outside)').click()",
    "document.querySelector('#site').dataset.state === 'shown'"],
  ["names", setTyped("am"), "document.querySelectorAll('#found [role=option]').length > 3"],
  ["no name", setTyped("nobody-is-called-so"), "document.querySelector('#found-status.words')"],
  ["no such site", "location.hash = '#site=nobody.example'",
    `document.querySelector('#notice').textContent !== '' && ${FILLED}`],
  ["found", `location.hash = '#site=' +
    new URL(document.querySelector('.row .tab.outside[href]').href).hostname`,
    // Kept, because the highlight ends while axe checks the next states.
    "(window.foundTab ??= document.querySelector('.row .tab.found'))"],
  ["card", "window.foundTab.focus()",
    "document.querySelector('.card:not([hidden])')"],
  ["site card", "document.querySelector('.share-bar button').click()",
    "document.querySelector('.card-dialog[open]')"],
  ["card closed", `document.querySelector('.card-dialog .card-close').click();
    window.foundTab.focus()`,
  "!document.querySelector('dialog[open]')"],
  ["closed tab", pressKey("Delete"), "document.querySelector('.closing-bar:not([hidden])')"],
  ["visit", "document.querySelectorAll('.closing-bar button')[1].click()",
    "document.querySelector('.card-dialog[open]')"],
  ["visit closed", "document.querySelector('.card-dialog[open] .card-close').click()",
    "!document.querySelector('dialog[open]')"],
  ["question", "[...document.querySelectorAll('.closing-bar button')].at(-1).click()",
    "document.querySelector('dialog[open]')"],
  ["all closed", "document.querySelector('dialog[open] button:last-child').click()",
    "document.querySelector('.wall.all-closed')"],
];

/** Axe spends most time on these rows, which no state changes. */
const LATER_ROWS = ".row:nth-child(n + 5)" +
  ":not(.has-group, :has(.has-group, .found, .opened, :focus))";

async function faultsIn(page, leftOut = []) {
  const run = `axe.run({ exclude: ${JSON.stringify(leftOut)} },
    { iframes: false, runOnly: ${JSON.stringify(TAGS)} })
    .then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) =>
      [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary.slice(0, 300)])))`;
  return JSON.parse(await page.evaluate(run));
}

describe("the page for everyone", { skip: program ? false : "no chromium is installed" }, () => {
  const visits = visitsOfSuite(program);

  for (const [[width, height], scheme, more] of VIEWS) {
    const look = [width, scheme, ...Object.keys(more)].join(" ");
    const media = { "prefers-color-scheme": scheme, ...CALM, ...more };
    const view = { width, height, phone: width < 1000, media };

    test(`no page and no state has a fault that axe knows: ${look}`, {
      skip: withoutPackages,
    }, async () => {
      const axe = readFileSync(AXE, "utf8");
      for (const [path, until] of Object.entries(PAGES)) {
        const sample = withMap(sampleSite({ bundles: 20, domains: ["com", "com", "org"] }));
        const { page } = await visits.visit(sample, { view, path, until });
        await page.evaluate(axe);
        if (path !== "") assert.deepEqual(await faultsIn(page), [], path);
        for (const [state, act, isThere] of path === "" ? STATES : []) {
          await page.evaluate(act);
          await page.until(state, isThere);
          const leftOut = state === STATES[0][0] ? [] : [LATER_ROWS];
          assert.deepEqual(await faultsIn(page, leftOut), [], state);
        }
        await visits.leave();
      }
    });
  }

  test("the pages are valid HTML", { skip: withoutPackages }, async () => {
    const { HtmlValidate } = await import(`${PACKAGES}/html-validate/dist/esm/index.js`);
    const validator = new HtmlValidate({
      extends: ["html-validate:recommended"],
      // A list below an input has this role in the ARIA guide; a select cannot be used there.
      rules: { "prefer-native-element": ["error", { exclude: ["listbox"] }] },
    });
    for (const name of readdirSync(SITE).filter((file) => file.endsWith(".html"))) {
      const { results } = await validator.validateString(readFileSync(SITE + name, "utf8"), name);
      const said = results.flatMap(({ messages }) => messages)
        .map(({ line, ruleId, message }) => `${name}:${line} ${ruleId}: ${message}`);
      assert.deepEqual(said, []);
    }
  });

  test("a tab is described by its host, also after scrolling and at once on focus", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 40 }));
    const described = `[...document.querySelectorAll('.row:not([hidden]) .tab[href]')]
      .every((tab) => tab.ariaDescription === new URL(tab.href).hostname +
        (tab.classList.contains('outside') ? ', opens in a new tab' : ''))`;
    await page.until("descriptions", described);
    await scrollBy(page, 3_000);
    await page.until("descriptions of other tabs", described);
    const atOnce = await page.evaluate(`(async () => {
      window.scrollBy(0, 3000);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const tab = [...document.querySelectorAll('.row:not([hidden]) .tab[href]')]
        .find((one) => !one.ariaDescription?.includes(new URL(one.href).hostname));
      tab?.focus();
      return !tab || tab.ariaDescription.includes(new URL(tab.href).hostname);
    })()`);
    assert.ok(atOnce);
    await page.evaluate("document.querySelectorAll('.row .tab[href]')[20].focus()");
    const { nodes } = await page.call("Accessibility.getFullAXTree");
    const link = nodes.find(({ role, properties }) => role?.value === "link" &&
      properties.some(({ name, value }) => name === "focused" && value.value));
    assert.match(link.description.value, /\.example/);
  });

  test("cross and arrow stand out from their tabs in every style, by three to one", async () => {
    for (const scheme of ["light", "dark"]) {
      const view = { media: { "prefers-color-scheme": scheme, ...CALM } };
      const { page } = await visits.visit(sampleSite({ bundles: 20 }), { view });
      for (const skin of SKINS) {
        await page.evaluate(setSkin(skin));
        await page.until(skin, `document.documentElement.dataset.skin === '${skin}' && ${FILLED}`);
        const least = await page.evaluate(LEAST_CONTRAST);
        assert.ok(least >= 3, `${skin} ${scheme}: ${least}`);
      }
      await visits.leave();
    }
  });
});

const LEAST_CONTRAST = `(() => {
  const linear = (part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((one) => linear(one / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, two) => {
    const [dark, bright] = [light(one), light(two)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  return Math.min(...[...document.querySelectorAll('.row:not([hidden]) .tab[href]')].map((tab) => {
    const style = getComputedStyle(tab);
    const mark = /stroke='%23([0-9a-f]{6})/.exec(style.backgroundImage)[1];
    const isActive = tab.classList.contains('active');
    return contrast('#' + mark,
      isActive ? style.backgroundColor : getComputedStyle(tab.closest('.row')).backgroundColor);
  }));
})()`;
