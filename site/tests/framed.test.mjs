// Sites in frames, in a real browser with a real HTTPS server.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { serveFramedSites } from "./framed-sites.mjs";
import { until } from "./patience.mjs";
import { sampleSite } from "./sample.mjs";
import { clickOn, PAINTED, Visits } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const FRAMED = "framed.example";
const OWN = "own.example";

describe("a site in a frame", { skip, concurrency: false }, () => {
  let sites;
  let visits;
  before(async () => {
    sites = await serveFramedSites();
    const sitesAt = `127.0.0.1:${sites.port}`;
    visits = new Visits(program, [
      "--ignore-certificate-errors",
      `--host-resolver-rules=MAP ${FRAMED}:443 ${sitesAt}, MAP elsewhere.example:443 ${sitesAt}, ` +
        `MAP grasping.example:443 ${sitesAt}, MAP leading.example:443 ${sitesAt}, ` +
        `MAP ${OWN} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
    ]);
  });
  afterEach(async () => {
    await visits.leave();
    sites.reports.length = 0;
  });
  after(async () => {
    await visits?.close();
    await sites?.close();
  });

  const visitTabsOf = (host, view) => {
    const sample = sampleSite({ bundles: 1, tabsABundle: 200 });
    const { entries } = sample.bundle(0);
    entries.forEach((entry) => Object.assign(entry, { url: `https://${host}/`, iframe_ok: true }));
    return visits.visit({ ...sample, bundle: () => ({ entries }) },
      { until: PAINTED, framesAreReal: true, ownHost: OWN, view });
  };
  const open = async (page) => {
    await page.until("interaction.js", "document.querySelector('link[rel=manifest]')");
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the site", `document.querySelector('#site').dataset.state === 'shown' &&
      !document.querySelector('#wall.making-room') &&
      !document.getAnimations().some((one) => one instanceof CSSTransition)`);
  };
  const reported = (what) =>
    until(what, () => sites.reports.includes(what), () => `: ${sites.reports}`);
  const clickInFrame = async (page, share) => {
    const box = await page.evaluate(`(() => {
      const { left, top, width, height } = document.querySelector('iframe').getBoundingClientRect();
      return { left, top, width, height };
    })()`);
    await page.click(box.left + box.width * share, box.top + box.height / 2);
  };
  const drawn = (page) => page.evaluate("document.querySelector('#site .address').innerText");

  test("its own font, module and request work, and its link opens a new tab", async () => {
    const { page } = await visitTabsOf(FRAMED);
    await open(page);
    await reported("module");
    await reported("fonts 1");
    await reported("fetch 7");
    assert.equal(await page.evaluate("document.querySelector('iframe').credentialless"), true);
    await clickInFrame(page, 0.25);
    await reported(`opened as https://${FRAMED}`);
    assert.ok((await drawn(page)).startsWith(FRAMED), "a new tab changes nothing in the frame");
    for (const { targetId, url } of (await visits.browser.call("Target.getTargets")).targetInfos) {
      if (url.endsWith("/opened")) await visits.browser.call("Target.closeTarget", { targetId });
    }
  });

  test("once the frame has left the site, the drawn address says so", async () => {
    const { page } = await visitTabsOf(FRAMED);
    await open(page);
    await reported("module");
    await clickInFrame(page, 0.75);
    await page.until("the words",
      "document.querySelector('.host').textContent.startsWith('You followed')");
    assert.match(await drawn(page),
      /^You followed a link from framed\.example\s+The browser hides its address$/);
    assert.equal(await page.evaluate("document.querySelector('#site .icon').hidden"), true);
    await page.evaluate("document.querySelector('[data-part=close]').click()");
    await open(page);
    assert.ok((await drawn(page)).startsWith(FRAMED), "the next opening starts anew");
  });

  test("the drawn address says of a site that leads elsewhere whose tab was opened", async () => {
    const { page } = await visitTabsOf("leading.example");
    await open(page);
    // The page cannot see this: there is one "load" event, for the other site.
    const { frameTree } = await page.call("Page.getFrameTree");
    assert.equal(frameTree.childFrames[0].frame.url, "https://elsewhere.example/");
    assert.ok((await drawn(page)).startsWith("leading.example"));
    assert.match(await page.evaluate("document.querySelector('#site .host').title"),
      /^Opened from the tab of leading\.example\. A site can lead to another one/);
  });

  test("a site that takes the focus by script gives it back, and Escape closes it", async () => {
    for (const isByKey of [false, true]) {
      const { page } = await visitTabsOf("grasping.example");
      if (isByKey) {
        await page.until("interaction.js", "document.querySelector('link[rel=manifest]')");
        await page.evaluate("document.querySelector('.row .tab[href]:not(.outside)').focus()");
        await page.key("Enter");
      } else {
        await open(page);
      }
      await reported("grasped");
      await page.until("the focus on Close",
        "document.activeElement === document.querySelector('[data-part=close]')");
      await page.key("Escape");
      await page.until("no site", "document.querySelector('#site').hidden");
      sites.reports.length = 0;
      await visits.leave();
    }
  });

  test("a pointer that only rests over the frame does not let it keep the focus", async () => {
    const { page } = await visitTabsOf("grasping.example");
    await open(page);
    await reported("grasped");
    const at = await page.evaluate(`(() => {
      const { left, top } = document.querySelector('iframe').getBoundingClientRect();
      return { x: left + 40, y: top + 40 };
    })()`);
    await page.pointAt(at.x, at.y);
    // The browser forgets the press that opened the site, which is then no press in the frame.
    await page.until("no recent press", "!navigator.userActivation.isActive");
    await page.until("the focus on Close",
      "document.activeElement === document.querySelector('[data-part=close]')");
  });

  test("a press in the frame gives it the focus, and Tab leads into it", async () => {
    const { page } = await visitTabsOf("grasping.example");
    await open(page);
    await reported("grasped");
    await page.until("the focus on Close",
      "document.activeElement === document.querySelector('[data-part=close]')");
    const box = await page.evaluate(`(() => {
      const { left, top } = document.querySelector('iframe').getBoundingClientRect();
      return { left, top };
    })()`);
    await page.call("Input.dispatchMouseEvent",
      { type: "mouseMoved", x: box.left + 40, y: box.top + 40 });
    await page.until("an active frame", "!document.querySelector('iframe').inert");
    await clickInFrame(page, 0.5);
    await reported("pressed");
    await page.until("the frame's focus", "document.activeElement.tagName === 'IFRAME'");
    await page.evaluate("document.querySelector('[data-part=out]').focus()");
    await page.key("Tab");
    await page.until("the frame's focus", "document.activeElement.tagName === 'IFRAME'");
  });

  for (const [width, height] of [[390, 844], [1440, 900]]) {
    test(`a site that shows nothing leaves a labelled way out, at ${width} px`, async () => {
      const view = { width, height, phone: width < 600 };
      const { page } = await visitTabsOf("gone.example", view);
      await open(page);
      const out = await page.evaluate(`(() => {
        const link = document.querySelector('[data-part=out]');
        const box = link.getBoundingClientRect();
        const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return {
          text: link.innerText.trim(), href: link.href, target: link.target,
          seen: link.contains(seen), high: box.height,
          wide: document.documentElement.scrollWidth - innerWidth,
        };
      })()`);
      assert.equal(out.text, "Not loading? Open in a new tab");
      assert.equal(out.href, "https://gone.example/");
      assert.deepEqual([out.target, out.seen], ["_blank", true]);
      assert.ok(out.high >= 24 && out.wide <= 0, JSON.stringify(out));
    });
  }

  test("the page's own host is never framed", async () => {
    const { page } = await visitTabsOf(OWN);
    const tabs = "document.querySelectorAll('.row .tab[href]";
    assert.equal(await page.evaluate(`${tabs}:not(.outside)').length`), 0);
    assert.ok((await page.evaluate(`${tabs}.outside').length`)) > 20);
  });
});
