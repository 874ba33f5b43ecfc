// The page in Firefox: the most important checks.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findFirefox, openFirefox } from "./firefox.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const program = findFirefox();
const SITE = fileURLToPath(new URL("../", import.meta.url));
const AXE = `${process.env.EVERYTAB_NODE ?? `${SITE}../target/node`}` +
  "/node_modules/axe-core/axe.min.js";

describe("the page in Firefox", { skip: program ? false : "no firefox is installed" }, () => {
  let firefox;
  let server;
  before(async () => {
    server = await serveSample(sampleSite({ bundles: 50 }), { gzip: true });
    firefox = await openFirefox(program);
    await firefox.open(`${server.url}#seed=7`);
  });
  after(async () => {
    await firefox?.close();
    await server?.close();
  });

  test("tabs are painted in its own style, and move", async () => {
    await firefox.until("tabs", "document.querySelectorAll('.row .tab[href]').length > 100");
    await firefox.until("motion", "document.getAnimations().length > 10");
    assert.equal(await firefox.evaluate("document.documentElement.dataset.skin"), "firefox");
    const wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert.equal(await firefox.evaluate(wide), 0);
    const left = "document.querySelectorAll('.row .tab')[3].getBoundingClientRect().left";
    const before = await firefox.evaluate(left);
    await firefox.until("movement", `Math.abs(${left} - ${before}) > 1`);
  });

  test("nodes stay bounded, a name is found, a site opens between the rows", async () => {
    const nodes = "document.getElementsByTagName('*').length";
    const before = await firefox.evaluate(nodes);
    for (let step = 0; step < 20; step += 1) {
      await firefox.evaluate("window.scrollBy(0, 900)");
      await firefox.until("tabs",
        "!document.querySelector('.row:not([hidden]) .coming:not([hidden])')");
    }
    assert.ok((await firefox.evaluate(nodes)) < before * 1.5);
    await firefox.evaluate(`(() => {
      const input = document.querySelector('#find');
      input.focus();
      input.value = 'amber-b';
      input.dispatchEvent(new Event('input'));
    })()`);
    await firefox.until("names", "document.querySelectorAll('#found [role=option]').length > 3");
    await firefox.evaluate("document.querySelector('#found li').click()");
    await firefox.until("the tab, lit up", `document.querySelector('.row .tab.found')
      ?.href.includes('amber-b')`);
    const wall = "!/&open/.test(location.hash) && document.querySelectorAll('iframe').length === 0";
    // If a visitor closes a site as soon as it appears, Firefox may refuse the step back, and the
    // step forward after it (see `step`).
    const isOpen = "document.querySelectorAll('iframe').length === 1";
    let refused;
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await firefox.evaluate(`[...document.querySelectorAll(
        '.row .tab[href]:not(.outside, .opened)')].find((tab) => tab.checkVisibility()).click()`);
      await firefox.until("the viewer", `!document.querySelector('#site').hidden &&
        document.querySelector('#site iframe').src.startsWith('https://')`);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await firefox.evaluate("document.querySelector('[data-part=close]').click()");
      await firefox.until("its end", wall);
      refused = await firefox.step("forward", isOpen, 2).then(() => null, (error) => error);
      if (!refused) break;
    }
    assert.ifError(refused);
    await firefox.step("back", wall);
  });

  test("a link opens its site cold, the keyboard walks, and no state has a fault", {
    skip: existsSync(AXE) ? false : `no ${AXE}; scripts/install/test.sh`,
  }, async () => {
    const entry = sampleSite({ bundles: 50 }).bundle(31).entries.find((one) => one.iframe_ok);
    const { hostname } = new URL(entry.url);
    const check = async (state) => {
      const run = `window.axe.run(document, { iframes: false, runOnly: ['wcag2a', 'wcag2aa',
        'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) => {
          window.faults = JSON.stringify(violations.map(({ id, nodes }) => [id, nodes[0].html]));
        })`;
      await firefox.evaluate(`(() => { window.faults = null; ${run}; })()`);
      await firefox.until("axe", "window.faults !== null");
      assert.equal(await firefox.evaluate("window.faults"), "[]", state);
    };
    await firefox.open("about:blank");
    await firefox.open(`${server.url}#site=${hostname}&open`);
    await firefox.until("the site", `!document.querySelector('#site').hidden &&
      document.querySelector('#site iframe')?.src.includes('${hostname}')`);
    await firefox.evaluate(`(() => { ${readFileSync(AXE, "utf8")}; window.axe = axe; })()`);
    await firefox.until("the site, at rest", `!document.querySelector('#wall.making-room') &&
      document.querySelector('#site').getAnimations({ subtree: true }).length === 0`);
    await check("open");
    await firefox.evaluate("document.querySelector('[data-part=close]').click()");
    await firefox.until("its end", "document.querySelector('#site').hidden");
    await firefox.until("a description",
      `[...document.querySelectorAll('.row .tab')].some((tab) => tab.href.includes('${hostname}') &&
        tab.ariaDescription?.includes('${hostname}'))`);
    await firefox.evaluate("document.querySelector('.row .tab[href]').focus()");
    await firefox.evaluate(`void document.activeElement.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }))`);
    await firefox.until("another tab", `document.activeElement.matches('.row .tab') &&
      document.activeElement !== document.querySelector('.row .tab[href]')`);
    await check("wall");
    await firefox.evaluate("document.querySelector('#find').focus()");
    await firefox.evaluate(`(() => {
      const input = document.querySelector('#find');
      input.value = 'nobody-is-called-so';
      input.dispatchEvent(new Event('input'));
    })()`);
    await firefox.until("the words", "document.querySelector('#found-status.words')");
    await check("no name");
  });

  test("by mouse and keys: a cross closes, a row is dragged, + and Dive lead on", async () => {
    await firefox.open("about:blank");
    await firefox.open(`${server.url}#seed=7`);
    await firefox.until("all modules", `document.querySelectorAll('.row .tab[href]').length > 100 &&
      document.querySelector('link[rel=manifest]') && document.querySelector('.plus')`);
    const row = "[...document.querySelectorAll('.row')][4]";
    const tabs = `${row}.querySelectorAll('.tab[href]:not([hidden])')`;
    const y = await firefox.evaluate(`${row}.getBoundingClientRect().top + 20`);
    await firefox.point([{ x: 600, y }]);
    await firefox.until("a stopped row", `${row}.getAnimations({ subtree: true }).length === 0`);

    const count = await firefox.evaluate(`${tabs}.length`);
    const cross = await firefox.evaluate(`(() => {
      const tab = document.elementFromPoint(600, ${y}).closest('.tab') ??
        document.elementFromPoint(540, ${y}).closest('.tab');
      return { x: tab.getBoundingClientRect().right - 14, href: tab.href };
    })()`);
    await firefox.point([{ x: cross.x, y }]);
    await firefox.until("a marked cross", "document.querySelector('.on-cross')");
    await firefox.click(cross.x, y);
    const words = "document.querySelector('.closing-bar:not([hidden]) p')?.textContent ?? ''";
    await firefox.until("the count", `${words}.startsWith('You have closed 1.')`);
    assert.equal(await firefox.evaluate(`${tabs}.length`), count - 1);
    assert.equal(await firefox.evaluate("document.querySelector('#site').hidden"), true);
    await firefox.evaluate("document.querySelector('.closing-bar button').click()");
    await firefox.until("the tab again", `[...${tabs}].some(({ href }) =>
      href === ${JSON.stringify(cross.href)})`);

    await firefox.point([{ x: 600, y }]);
    await firefox.until("a stopped row", `${row}.getAnimations({ subtree: true }).length === 0`);
    const left = `[...${tabs}].find(({ href }) => href === ${JSON.stringify(cross.href)})
      .getBoundingClientRect().left`;
    const before = await firefox.evaluate(left);
    const path = [600, 580, 550, 520, 500].map((x) => ({ x, y }));
    await firefox.point(path, true);
    await firefox.until("a dragged row", `Math.abs(${left} - ${before}) > 60`);
    assert.equal(await firefox.evaluate("document.querySelector('#site').hidden"), true);

    const plus = await firefox.evaluate(`(() => {
      const { left, right, top } = document.querySelector('.plus').getBoundingClientRect();
      return { x: (left + right) / 2, y: top + 10 };
    })()`);
    await firefox.click(plus.x, plus.y);
    await firefox.until("the search field", "document.activeElement.id === 'find'");
    const dive = await firefox.evaluate(`(() => {
      const { left, right, top, bottom } = document.querySelector('#dive').getBoundingClientRect();
      return { x: (left + right) / 2, y: (top + bottom) / 2 };
    })()`);
    await firefox.click(dive.x, dive.y);
    await firefox.until("a site", "document.querySelector('#site iframe')");
    await firefox.key("\uE00C");
    await firefox.until("the wall", "document.querySelector('#site').hidden");
  });

  test("a tab group collapses by its chip, and expands", async () => {
    const sample = sampleSite({ bundles: 20, domains: ["com", "com", "org", "jp"] });
    const web = await serveSample(sample, { gzip: true });
    after(() => web.close());
    await firefox.open(`${web.url}#seed=7`);
    const shown = `[...document.querySelectorAll('.row .has-chip .chip')].find((chip) => {
      const { top, bottom, left, right } = chip.getBoundingClientRect();
      return top > 140 && bottom < innerHeight && left > 20 && right < innerWidth - 20;
    })`;
    await firefox.until("a chip", shown);
    const at = () => firefox.evaluate(`(() => {
      const chip = ${shown};
      const { left, right, top, bottom } = chip.getBoundingClientRect();
      window.group = chip.closest('.row');
      return { x: (left + right) / 2, y: (top + bottom) / 2 };
    })()`);
    const first = await at();
    await firefox.point([{ x: first.x, y: first.y }]);
    const isStopped = "window.group.getAnimations({ subtree: true }).length === 0";
    await firefox.until("a stopped row", isStopped);
    const number = "window.group.querySelectorAll('.tab[href]:not([hidden])').length";
    const before = await firefox.evaluate(number);
    const press = async () => {
      const place = await firefox.evaluate(`(() => {
        const { left, right, top, bottom } = window.group.querySelector('.chip')
          .getBoundingClientRect();
        return { x: (left + right) / 2, y: (top + bottom) / 2 };
      })()`);
      await firefox.click(place.x, place.y);
    };
    await press();
    await firefox.until("fewer tabs", `${number} < ${before} && ${isStopped}`);
    await press();
    await firefox.until("all tabs", `${number} === ${before}`);
    assert.equal(await firefox.evaluate("document.querySelector('#site').hidden"), true);
    assert.deepEqual(firefox.troubles, []);
  });

  test("a found site's card is shown, saved as a picture, and closed by its button", async () => {
    const { hostname } = new URL(sampleSite({ bundles: 50 }).bundle(31).entries
      .find(({ icon, iframe_ok: isFramed }) => icon && !isFramed).url);
    await firefox.open("about:blank");
    await firefox.open(`${server.url}#seed=7&site=${hostname}`);
    await firefox.until("the bar", "document.querySelector('.share-bar:not([hidden])')");
    await firefox.evaluate(`(() => {
      window.URL.createObjectURL = (blob) => {
        window.picture = blob;
        return 'data:,';
      };
      HTMLAnchorElement.prototype.click = () => {};
      document.querySelector('.share-bar button').click();
    })()`);
    await firefox.until("the card", "document.querySelector('.card-dialog[open]')");
    await firefox.until("the icon", "document.querySelector('.card-portrait img').width === 256");
    await firefox.evaluate("document.querySelectorAll('.card-actions button')[0].click()");
    await firefox.until("the picture", "window.picture?.size > 5000");
    await firefox.until("the message",
      "document.querySelector('.card-status').textContent.startsWith('Saved as everytab-')");
    await firefox.evaluate("document.querySelector('.card-dialog .card-close').click()");
    await firefox.until("no card", "!document.querySelector('dialog[open]')");
    assert.deepEqual(firefox.troubles, []);
  });

  test("the map shows all, zooms to icons, finds a site and shows its card", async () => {
    const mapped = withMap(sampleSite({ bundles: 50 }), { landmarks: 30 });
    const host = "#tab-card .host";
    const web = await serveSample(mapped, { gzip: true });
    try {
      const { url } = mapped.bundle(31).entries[77];
      await firefox.open(`${web.url}map.html`);
      await firefox.until("all", "document.querySelector('#seen').textContent.startsWith('All')");
      const colours = `(() => {
        const canvas = document.querySelector('#map');
        const { data } = canvas.getContext('2d').getImageData(canvas.width / 2, 200, 90, 90);
        return new Set(new Uint32Array(data.buffer)).size;
      })()`;
      await firefox.until("colours", `${colours} > 300`);
      await firefox.until("landmarks",
        "document.querySelectorAll('#tabs button').length === 30");
      await firefox.evaluate("document.querySelector('#site').value = " +
        `'${new URL(url).hostname}'`);
      await firefox.evaluate("document.querySelector('#find').requestSubmit()");
      await firefox.until("the card", `!document.querySelector('#tab-card').hidden &&
        document.querySelector('${host}').textContent === '${new URL(url).hostname}'`);
      await firefox.until("the list", "document.querySelectorAll('#tabs button').length > 50");
      await firefox.until("the address", "location.hash.startsWith('#site=')");
      await firefox.until("large icons", `${colours} > 5 && ${colours} < 200`);
      await firefox.evaluate("document.querySelector('#all').click()");
      await firefox.until("all", "document.querySelector('#seen').textContent.startsWith('All')");
      assert.equal(await firefox.evaluate("document.querySelector('#message').textContent"), "");
    } finally {
      await web.close();
    }
  });
});
