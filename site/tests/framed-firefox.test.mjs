// Sites in frames that take the focus by a script, in Firefox.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { findFirefox, openFirefox } from "./firefox.mjs";
import { serveFramedSites } from "./framed-sites.mjs";
import { until } from "./patience.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const program = findFirefox();
const GRASPING = "grasping.example";
/** Escape in WebDriver's table of keys. */
const ESCAPE = "\uE00C";
const ON_CLOSE = "document.activeElement === document.querySelector('[data-part=close]')";

describe("a site that takes the focus, in Firefox", {
  skip: program ? false : "no firefox is installed", concurrency: false,
}, () => {
  let sites;
  let server;
  let firefox;
  before(async () => {
    sites = await serveFramedSites();
    const sample = sampleSite({ bundles: 1, tabsABundle: 200 });
    const { entries } = sample.bundle(0);
    for (const entry of entries) {
      Object.assign(entry, { url: `https://${GRASPING}/`, iframe_ok: true });
    }
    server = await serveSample({ ...sample, bundle: () => ({ entries }) });
    firefox = await openFirefox(program, {
      isActive: true,
      preferences: {
        "network.dns.localDomains": GRASPING,
        "network.socket.forcePort": `443=${sites.port}`,
      },
    });
  });
  after(async () => {
    await firefox?.close();
    await server?.close();
    await sites?.close();
  });

  const reported = (what) =>
    until(what, () => sites.reports.includes(what), () => `: ${sites.reports}`);
  const open = async () => {
    sites.reports.length = 0;
    await firefox.open(`${server.url}?${Math.random()}#seed=7`);
    await firefox.until("interaction.js", "document.querySelector('link[rel=manifest]') !== null");
    const at = await firefox.evaluate(`(() => {
      const { left, top, width, height } = [...document.querySelectorAll('.row .tab[href]')]
        .map((tab) => tab.getBoundingClientRect())
        .find((box) => box.top > 200 && box.left > 20 && box.right < innerWidth - 20);
      return { x: left + width / 3, y: top + height / 2 };
    })()`);
    await firefox.click(at.x, at.y);
    await firefox.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
    await reported("grasped");
  };

  // WebDriver's input does not reach a frame of another site in Firefox, so that only Chromium's
  // tests press in one.
  test("it does not keep the keyboard: Escape closes it", async () => {
    await open();
    // As long as the pointer rests over the frame, the frame can take the focus.
    await firefox.point([{ x: 10, y: 10 }]);
    await firefox.until("the focus on Close", ON_CLOSE);
    await firefox.key(ESCAPE);
    await firefox.until("no site", "document.querySelector('#site').hidden");
    assert.equal(await firefox.evaluate("document.querySelectorAll('iframe').length"), 0);
  });
});
