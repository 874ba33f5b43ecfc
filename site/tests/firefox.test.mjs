// The page in Firefox: the most important checks of the Chromium tests. Skipped with a message if
// no Firefox is installed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { findFirefox, openFirefox } from "./firefox.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const program = findFirefox();

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
    await firefox.evaluate("document.querySelector('.row .tab[href]:not(.outside)').click()");
    await firefox.until("the viewer", `!document.querySelector('#site').hidden &&
      document.querySelector('#site iframe').src.startsWith('https://')`);
    await firefox.evaluate("document.querySelector('[data-part=close]').click()");
    await firefox.until("its end", "document.querySelectorAll('iframe').length === 0");
  });
});
