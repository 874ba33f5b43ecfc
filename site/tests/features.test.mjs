// The pages in browsers without JavaScript or light-dark().

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { PAGES, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const SITE = fileURLToPath(new URL("../", import.meta.url));
const READY = "document.readyState === 'complete'";
/** `no-such()` is unknown to every browser. The HTTP service's page is `crawl.html`. */
const withoutLightDark = (path) => {
  const file = path === "crawl.html" ? "crawl/index.html" : path.replace(/^page\//, "crawl/");
  if (file === path && !/^css\/[a-z-]+\.css$/.test(path)) return null;
  const body = readFileSync(SITE + file, "utf8");
  return { status: 200, body: body.replaceAll("light-dark(", "no-such(") };
};
const CONTRAST = `
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, two) => {
    const [dark, bright] = [light(one), light(two)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };`;
const unreadable = (selectors) => `(() => {
  ${CONTRAST}
  return ${JSON.stringify(selectors)}.filter((selector) => {
    const { color, backgroundColor } = getComputedStyle(document.querySelector(selector));
    const [, , , alpha = 1] = numbers(backgroundColor);
    return alpha < 1 || contrast(color, backgroundColor) < 4.5;
  });
})()`;

describe("browsers that lack something", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  const visits = visitsOfSuite(program);

  test("without JavaScript a page says so once, and shows nothing that needs it", async () => {
    const phone = { width: 390, height: 844, phone: true };
    const seen = Object.keys(PAGES).flatMap((path) => [{}, phone].map((view) => ({ path, view })));
    for (const { path, view } of seen) {
      const { page } = await visits.visit(withMap(sampleSite({ bundles: 20 })), {
        path, view, until: READY,
        prepare: (one) => one.call("Emulation.setScriptExecutionDisabled", { value: true }),
      });
      const { words, controls, links } = await page.evaluate(`({
        words: document.body.innerText,
        controls: [...document.querySelectorAll('button, input, select')]
          .filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 60)),
        links: [...document.querySelectorAll('nav a')]
          .filter((one) => one.checkVisibility()).length,
      })`);
      assert.doesNotMatch(words, /Opening|Loading|Try again|Zoom in until you can|Drag to/, path);
      assert.deepEqual(controls, [], path);
      assert.ok(links >= 4, path);
      const needed = ["", "map.html", "stats.html"].includes(path) ? 1 : 0;
      assert.equal(words.match(/needs? JavaScript/g)?.length ?? 0, needed, path);
    }
  });

  for (const scheme of ["light", "dark"]) {
    test(`without light-dark() all text can be read (${scheme})`, async () => {
      const sample = withMap(sampleSite({ bundles: 20, domains: ["com", "com", "org"] }));
      const view = {
        media: { "prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce" },
      };
      const visit = (path) => visits.visit(sample,
        { view, path, until: PAGES[path], replace: withoutLightDark });
      const { page } = await visit("");
      await page.until("groups", "document.querySelector('.has-group .chip')");
      await page.evaluate(`(() => {
        const input = document.querySelector('#find');
        input.focus();
        input.value = 'am';
        input.dispatchEvent(new Event('input'));
      })()`);
      await page.until("names", "document.querySelectorAll('#found [role=option]').length > 3");
      assert.deepEqual(await page.evaluate(unreadable(
        [".header .toolbar", "#found", "#skin", ".header .address", ".row .active", ".chip"])), []);
      const { page: map } = await visit("map.html");
      assert.deepEqual(await map.evaluate(unreadable(
        [".go", ".side", ".orders [aria-pressed=true]"])), []);
      for (const path of ["stats.html", "about.html"]) {
        const { page: other } = await visit(path);
        assert.deepEqual(await other.evaluate(unreadable(["body"])), [], path);
      }
      const { page: crawl } = await visits.visit(sample,
        { view, path: "crawl.html", until: READY, replace: withoutLightDark });
      await crawl.evaluate("document.querySelector('#notice').className = 'bad'");
      assert.deepEqual(await crawl.evaluate(unreadable(
        ["body", "section", ".toolbar", "button.main", "#notice"])), []);
    });
  }
});
