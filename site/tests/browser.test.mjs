// The page in a real browser, headless Chromium.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { poolSize, rowLayout } from "../js/layout.js";
import { HOSTILE_TITLES, sampleSite } from "./sample.mjs";
import { clickOn, PAINTED, scrollBy, Visits } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";

describe("the page in a browser", { skip, concurrency: false }, () => {
  let visits;
  let browser;
  const visit = (...of) => visits.visit(...of);

  before(() => {
    visits = new Visits(program);
    browser = visits.browser;
  });
  afterEach(() => visits.leave());
  after(() => visits?.close());

  const words = (page) => page.evaluate("document.querySelector('#message').textContent");

  test("tabs are painted with icons, titles and real links, in silence", async () => {
    const { page } = await visit(sampleSite({ bundles: 50 }));
    const seen = await page.evaluate(`(() => {
      const tabs = [...document.querySelectorAll('.row .tab:not([hidden])')];
      return {
        tabs: tabs.length,
        rows: document.querySelectorAll('.row').length,
        icons: tabs.filter((tab) => tab.querySelector('img').naturalWidth > 0).length,
        bare: tabs.filter((tab) => tab.querySelector('img').hidden).length,
        titled: tabs.filter((tab) => tab.querySelector('.title').textContent !== '').length,
        bad: tabs.filter((tab) => !/^https?:\\/\\//.test(tab.href) || tab.target !== '_blank'
          || tab.rel !== 'noopener noreferrer nofollow').length,
        iconPx: tabs[0].querySelector('.icon:not([hidden])').getBoundingClientRect().width,
        count: document.querySelector('#facts').textContent,
        wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      };
    })()`);
    assert.ok(seen.tabs > 100 && seen.rows > 15, JSON.stringify(seen));
    assert.ok(seen.icons > 50 && seen.bare > 10, JSON.stringify(seen));
    assert.deepEqual([seen.icons + seen.bare, seen.titled], [seen.tabs, seen.tabs]);
    assert.equal(seen.bad, 0);
    assert.equal(seen.iconPx, 16);
    assert.equal(seen.count, "6,000 so far");
    assert.ok(seen.wide <= 0, "the page scrolls sideways");
    assert.deepEqual(page.troubles, []);
  });

  test("the number of nodes stays bounded however far one scrolls", async () => {
    const { page, server } = await visit(sampleSite({ bundles: 300 }));
    const count = async () => [
      await page.evaluate("document.getElementsByTagName('*').length"),
      await page.evaluate("document.querySelectorAll('.row').length"),
    ];
    let early = 0;
    let most = 0;
    for (let step = 0; step < 35; step += 1) {
      await scrollBy(page, 1_400);
      await page.until("tabs below",
        "document.documentElement.scrollHeight > scrollY + 2 * innerHeight");
      const [nodes, rows] = await count();
      assert.ok(rows <= poolSize(800, rowLayout(1280, false).rowHeightPx), `${rows} rows`);
      if (step < 7) early = Math.max(early, nodes);
      most = Math.max(most, nodes);
    }
    assert.ok((await page.evaluate("scrollY")) > 40_000);
    assert.equal(most, early, `${early} nodes grew to ${most}`);
    assert.ok(server.asked.filter((path) => path.includes("/tabs/")).length > 70);
    await page.until("rows in the order in which they are seen", `(() => {
      const rows = [...document.querySelectorAll('.row:not([hidden])')]
        .map((row) => row.getBoundingClientRect().top);
      const height = document.querySelector('.row').getBoundingClientRect().height;
      return rows.slice(1).every((top, i) => Math.abs(top - rows[i] - height) < 0.5);
    })()`);
    await page.evaluate("window.scrollTo(0, 0)");
    await page.until("the first row again", `document.querySelector('.row .tab')?.href &&
      document.querySelector('.row').getBoundingClientRect().top < 120 &&
      document.querySelectorAll('.coming:not([hidden])').length === 0`);
    assert.deepEqual(page.troubles, []);
  });

  test("most frames of a scroll paint no row, and nothing that is seen shifts", async () => {
    const { page } = await visit(sampleSite({ bundles: 300 }));
    const seen = JSON.parse(await page.evaluate(`new Promise((done) => {
      let shift = 0;
      let moved = false;
      const counts = { frames: 0, painted: 0 };
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shift += entry.value;
      }).observe({ type: 'layout-shift' });
      new MutationObserver((changes) => {
        moved ||= changes.some(({ target }) => target.className === 'row');
      }).observe(document.querySelector('#wall'), {
        subtree: true, attributes: true, attributeFilter: ['style'],
      });
      const step = () => {
        counts.frames += 1;
        counts.painted += moved;
        moved = false;
        window.scrollBy(0, 60);
        if (counts.frames < 150) requestAnimationFrame(step);
        else setTimeout(() => done(JSON.stringify({ ...counts, shift })), 200);
      };
      requestAnimationFrame(step);
    })`));
    assert.ok(seen.painted > 10 && seen.painted < seen.frames / 3, JSON.stringify(seen));
    assert.equal(seen.shift, 0);
    assert.deepEqual(page.troubles, []);
  });

  test("the same seed shows the same tabs, another seed others", async () => {
    const sample = sampleSite({ bundles: 50 });
    const hrefs = "[...document.querySelectorAll('.row .tab[href]')].slice(0, 30).map(String)";
    const first = await visit(sample);
    const again = await visit(sample);
    const other = await visit(sample, { hash: "#seed=8" });
    const shown = await first.page.evaluate(hrefs);
    assert.deepEqual(await again.page.evaluate(hrefs), shown);
    assert.notDeepEqual(await other.page.evaluate(hrefs), shown);
    await first.page.call("Page.bringToFront");
    await first.page.evaluate("document.querySelector('#shuffle').click()");
    await first.page.until("other tabs", `JSON.stringify(${hrefs}) !==
      ${JSON.stringify(JSON.stringify(shown))} && ${PAINTED}`);
    assert.match(await first.page.evaluate("location.hash"), /^#seed=\d+$/);
  });

  test("hostile titles are shown as text and run nothing", async () => {
    const sample = sampleSite({ bundles: 1, tabsABundle: 90 });
    const bundle = sample.bundle(0);
    bundle.entries.forEach((entry, i) => {
      entry.title = HOSTILE_TITLES[i % HOSTILE_TITLES.length];
    });
    bundle.entries[3].url = "javascript:document.documentElement.dataset.owned = 1";
    const { page } = await visit({ ...sample, bundle: () => bundle });
    const seen = await page.evaluate(`(() => {
      const titles = [...document.querySelectorAll('.row .title')];
      return {
        shown: titles.filter((title) => title.textContent.startsWith('<script>')).length,
        elements: titles.filter((title) => title.children.length > 0).length,
        owned: document.documentElement.dataset.owned ?? null,
        tabs: document.querySelectorAll('.row .tab[href]').length,
        high: titles.filter((title) => title.getBoundingClientRect().height > 30).length,
      };
    })()`);
    assert.equal(seen.tabs, 89);
    assert.ok(seen.shown >= 14, JSON.stringify(seen));
    assert.equal(seen.elements, 0);
    assert.equal(seen.owned, null);
    assert.equal(seen.high, 0, "a title broke out of its line");
    await page.pointAt(400, await page.evaluate(
      "document.querySelectorAll('.row')[2].getBoundingClientRect().top + 20"));
    await page.until("the card", "!document.querySelector('#card').hidden");
    assert.equal(await page.evaluate("document.documentElement.dataset.owned ?? null"), null);
    assert.deepEqual(page.troubles, []);
  });

  test("a frameable tab opens in a sandboxed frame, and Escape closes it", async () => {
    const { page } = await visit(sampleSite({ bundles: 50 }));
    const before = await page.evaluate("location.href");
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the frame", `document.querySelector('#site').dataset.state === 'shown' &&
      !document.querySelector('#wall.making-room') &&
      !document.getAnimations().some((one) => one instanceof CSSTransition)`);
    const frame = await page.evaluate(`(() => {
      const site = document.querySelector('#site');
      const frame = site.querySelector('iframe');
      const box = site.getBoundingClientRect();
      const active = document.querySelector('.row .tab[href="' + frame.src + '"]');
      const row = active.closest('.row').getBoundingClientRect();
      const below = [...document.querySelectorAll('.row:not([hidden])')]
        .map((one) => one.getBoundingClientRect().top).find((top) => top > row.top + 5);
      return {
        share: box.height / innerHeight,
        between: [box.top - row.bottom, below - box.bottom],
        active: active.classList.contains('active'),
        inView: row.top >= 80 && box.bottom <= innerHeight,
        host: site.querySelector('.host').textContent,
        src: frame.src,
        out: site.querySelector('[data-part=out]').href,
        referrer: frame.getAttribute('referrerpolicy'),
        focus: document.activeElement.dataset.part,
      };
    })()`);
    assert.ok(Math.abs(frame.share - 0.75) < 0.01, JSON.stringify(frame));
    assert.deepEqual(frame.between.map(Math.round), [0, 0], "the rows are pushed apart");
    assert.ok(frame.active && frame.inView, JSON.stringify(frame));
    assert.equal(frame.host, new URL(frame.src).hostname);
    assert.equal(frame.out, frame.src);
    assert.equal(frame.referrer, "no-referrer");
    assert.equal(frame.focus, "close");
    assert.equal(page.framed.length, 1);
    assert.equal(page.framed[0].url, frame.src);
    assert.equal(page.framed[0].headers.Referer, undefined);
    await page.key("Escape");
    await page.until("the end of it", "document.querySelector('#site').hidden");
    await page.until("no frame left", "document.querySelectorAll('iframe').length === 0");
    assert.equal(await page.evaluate("document.activeElement.className.includes('tab')"), true);
    await page.until("its address again", `location.href === ${JSON.stringify(before)}`);
    assert.equal(await page.evaluate("history.length"), 3, "an open site is one step");
    assert.deepEqual(page.troubles, []);
  });

  test("the close button and a click beside the viewer close it too", async () => {
    const { page } = await visit(sampleSite({ bundles: 50 }));
    const opened = "!document.querySelector('#site').hidden";
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the window", opened);
    await page.evaluate("document.querySelector('[data-part=close]').click()");
    await page.until("closed by its button", `!(${opened})`);
    await clickOn(page, ".row .tab[href]:not(.outside)");
    await page.until("the window again", opened);
    await clickOn(page, "#site .address");
    assert.equal(await page.evaluate(opened), true, "a click inside closes nothing");
    await page.click(1_100, 20);
    await page.until("closed from beside", `!(${opened})`);
    assert.deepEqual(page.troubles, []);
  });

  test("a tab that can't be framed opens a new tab and no frame", async () => {
    const { page } = await visit(sampleSite({ bundles: 50 }));
    const count = async () => (await browser.call("Target.getTargets")).targetInfos
      .filter((target) => target.type === "page").length;
    const before = await count();
    await clickOn(page, ".row .tab[href].outside");
    const end = Date.now() + 10_000;
    while ((await count()) === before && Date.now() < end) await scrollBy(page, 0);
    assert.equal(await count(), before + 1);
    assert.equal(await page.evaluate("document.querySelector('#site').hidden"), true);
    for (const target of (await browser.call("Target.getTargets")).targetInfos) {
      if (target.openerId === page.targetId || target.url.includes(".example")) {
        await browser.call("Target.closeTarget", { targetId: target.targetId });
      }
    }
  });

  test("the keyboard walks the tabs, far beyond the view, and opens one", async () => {
    const { page } = await visit(sampleSite({ bundles: 50 }));
    const focused = "[...document.querySelectorAll('.row .tab')].indexOf(document.activeElement)";
    const stops = [];
    while ((await page.evaluate(focused)) < 0 && stops.length < 20) {
      await page.key("Tab");
      stops.push(await page.evaluate("document.activeElement.id"));
    }
    // The next element depends on the skin: the tabs or a button in the bar above them.
    const named = ["map-link", "", "", "", "", "shuffle", "find", "dive", "motion", "skin"];
    assert.deepEqual(stops.slice(0, named.length), named);
    assert.equal(await page.evaluate(focused), 0);
    const first = await page.evaluate("document.activeElement.href");
    await page.key("ArrowRight");
    assert.equal(await page.evaluate("document.activeElement.previousSibling.href"), first);
    await page.key("ArrowLeft");
    assert.equal(await page.evaluate("document.activeElement.href"), first);
    for (let step = 0; step < 60; step += 1) {
      await page.key("ArrowDown");
      await page.until("its row in view", `(() => {
        const box = document.activeElement.getBoundingClientRect();
        return document.activeElement.matches('.tab[href]') && box.top >= 80 &&
          box.bottom <= innerHeight && box.left >= -1 && box.right <= innerWidth + 1;
      })()`);
    }
    assert.ok((await page.evaluate("scrollY")) > 1_500);
    const stop = "document.querySelectorAll('.row .tab[tabindex=\"0\"]').length";
    assert.equal(await page.evaluate(stop), 1);
    while (await page.evaluate("document.activeElement.matches('.outside')")) {
      await page.key("ArrowRight");
    }
    const chosen = await page.evaluate("document.activeElement.href");
    await page.key("Enter");
    await page.until("the frame", "document.querySelector('#site iframe')?.src.length > 0");
    assert.equal(await page.evaluate("document.querySelector('#site iframe').src"), chosen);
    await page.key("Escape");
    await page.until("the end of it", "document.querySelector('#site').hidden");
    await page.until("the focus back", `document.activeElement.href === ${JSON.stringify(chosen)}`);
    assert.deepEqual(page.troubles, []);
  });

  test("focus never passes to another site when its row is used again", async () => {
    const { page } = await visit(sampleSite({ bundles: 50 }));
    await page.evaluate("document.querySelector('.row .tab[tabindex=\"0\"]').focus()");
    assert.equal(await page.evaluate("document.activeElement.matches('.row .tab')"), true);
    await scrollBy(page, 3_000);
    await page.until("the wall focused", "document.activeElement.id === 'wall'");
    await page.key("ArrowRight");
    const box = await page.evaluate(`(() => {
      const { top, bottom } = document.activeElement.getBoundingClientRect();
      return { tab: document.activeElement.matches('.tab[href]'), top, bottom };
    })()`);
    assert.ok(box.tab && box.top >= 0 && box.bottom <= 800, JSON.stringify(box));
  });

  test("pointing at a tab shows its whole title and its hostname", async () => {
    const { page } = await visit(sampleSite({ bundles: 50 }));
    const y = await page.evaluate(
      "document.querySelectorAll('.row')[5].getBoundingClientRect().top + 20");
    await page.pointAt(300, y);
    await page.until("the card", "!document.querySelector('#card').hidden");
    const seen = await page.evaluate(`(() => {
      const tab = document.elementFromPoint(300, ${y}).closest('.tab');
      const box = document.querySelector('#card').getBoundingClientRect();
      return {
        title: tab.querySelector('.title').textContent,
        host: new URL(tab.href).hostname,
        card: document.querySelector('#card').innerText,
        inside: box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight,
      };
    })()`);
    assert.ok(seen.card.includes(seen.title) && seen.card.includes(seen.host), seen.card);
    assert.ok(seen.inside);
    await scrollBy(page, 200);
    assert.equal(await page.evaluate("document.querySelector('#card').hidden"), true);
  });

  test("the page works below a path prefix", async () => {
    const { page, server } = await visit(sampleSite({ bundles: 5 }), { base: "/some/where/" });
    assert.ok(server.asked.every((path) => path.startsWith("/some/where/")), `${server.asked}`);
    assert.deepEqual(page.troubles, []);
  });

  test("a small scan is shown to its last tab, empty bundles and all", async () => {
    const sample = sampleSite({ bundles: 40, tabsABundle: 3, emptyEvery: 4 });
    const until = "document.body.innerText.includes('every tab: 90')";
    const { page } = await visit(sample, { until });
    await page.evaluate("window.scrollTo(0, 1e9)");
    await scrollBy(page, 0);
    const overlap = await page.evaluate(`(() => {
      const rows = [...document.querySelectorAll('.row:not([hidden])')];
      return rows.at(-1).getBoundingClientRect().bottom
        - document.querySelector('.foot').getBoundingClientRect().top;
    })()`);
    assert.ok(overlap < 1, `${overlap}`);
    assert.deepEqual(page.troubles, []);
  });

  test("a scan without bundles says that there are no tabs yet", async () => {
    const sample = sampleSite({ bundles: 0 });
    const { page } = await visit(sample, { until: "!document.querySelector('#retry').hidden" });
    assert.match(await words(page), /no tabs here yet/);
    assert.deepEqual(page.troubles, []);
  });

  test("a missing manifest is said plainly, and trying again brings the tabs", async () => {
    let missing = true;
    const { page } = await visit(sampleSite({ bundles: 9 }), {
      until: "!document.querySelector('#retry').hidden",
      replace: (path) => (missing && path === "manifest.json" ? { status: 404 } : null),
    });
    assert.match(await words(page), /manifest\.json is missing/);
    missing = false;
    await page.evaluate("document.querySelector('#retry').click()");
    await page.until("the tabs", PAINTED);
  });

  test("a manifest that is none is said plainly", async () => {
    const { page } = await visit(sampleSite({ bundles: 9 }), {
      until: "!document.querySelector('#retry').hidden",
      replace: (path) => (path === "manifest.json" ? { status: 200, body: "<html>" } : null),
    });
    assert.match(await words(page), /is damaged/);
  });

  test("missing and broken bundles are left out, named, and tried again", async () => {
    let bad = true;
    const { page } = await visit(sampleSite({ bundles: 4, tabsABundle: 60 }), {
      until: "!document.querySelector('#retry').hidden",
      replace: (path) => {
        if (bad && path.endsWith("/1.json")) return { status: 404 };
        return bad && path.endsWith("/2.json") ? { status: 200, body: "{\"entries\":7}" } : null;
      },
    });
    assert.match(await words(page), /^2 blocks of tabs couldn't be read/);
    assert.equal(await page.evaluate(PAINTED), true);
    bad = false;
    await page.evaluate("document.querySelector('#retry').click()");
    await page.until("all tabs", "document.body.innerText.includes('every tab: 240')");
  });

  test("a network that falls silent is said plainly, and the wall goes on after it", async () => {
    let down = false;
    const { page } = await visit(sampleSite({ bundles: 100 }), {
      replace: () => (down ? "drop" : null),
    });
    down = true;
    await page.until("the silence", `(window.scrollTo(0, 1e9),
      !document.querySelector('#retry').hidden)`);
    assert.match(await words(page), /network isn't responding/);
    assert.ok((await page.evaluate("document.querySelectorAll('.row .tab[href]').length")) > 20);
    const high = await page.evaluate("document.documentElement.scrollHeight");
    down = false;
    await page.evaluate("document.querySelector('#retry').click()");
    await page.until("more tabs", `(window.scrollTo(0, 1e9),
      document.documentElement.scrollHeight > ${high} + 500)`);
  });

  test("a scan that was replaced while the page was open is found anew", async () => {
    const old = sampleSite({ bundles: 200 });
    let current = old;
    const { page } = await visit(old, {
      replace: (path) => {
        const number = Number(/(\d+)\.json$/.exec(path)?.[1] ?? -1);
        if (path === "manifest.json") {
          return { status: 200, body: JSON.stringify(current.manifest) };
        }
        if (path.startsWith("scans/") && !path.startsWith(current.prefix)) return { status: 404 };
        if (path.startsWith(current.prefix)) {
          return { status: 200, body: JSON.stringify(current.bundle(number)) };
        }
        return null;
      },
    });
    const prefix = "scans/11111111-0000-4000-8000-000000000001/";
    current = { ...old, prefix, manifest: { ...old.manifest, prefix, hosts: 77 } };
    await page.until("the loss", `(window.scrollTo(0, 1e9),
      document.querySelector('#message').textContent.includes('have moved'))`);
    await page.evaluate("document.querySelector('#retry').click()");
    await page.until("the new scan", `
      /^77 so far/.test(document.querySelector('#facts').textContent) &&
      ${PAINTED}`);
  });

  test("a bundle named in the manifest's overrides is read in place of its first", async () => {
    const sample = sampleSite({ bundles: 1, tabsABundle: 60 });
    sample.manifest.overrides = { 0: "tabs/0-abc123.json" };
    const entries = sample.bundle(0).entries.slice(0, 59);
    const { server } = await visit(sample, {
      until: "document.body.innerText.includes('every tab: 59')",
      replace: (path) => (path === `${sample.prefix}tabs/0-abc123.json`
        ? { status: 200, body: JSON.stringify({ entries }) }
        : null),
    });
    assert.ok(!server.asked.some((path) => path.endsWith("tabs/0.json")));
  });

  test("a phone's narrow view is filled, turned and never scrolls sideways", async () => {
    const view = { width: 390, height: 844, phone: true, scale: 2 };
    const { page } = await visit(sampleSite({ bundles: 50 }), { view });
    const measure = `(() => ({
      wide: document.documentElement.scrollWidth - innerWidth,
      row: document.querySelector('.row').getBoundingClientRect().height,
      first: [...document.querySelectorAll('.row')]
        .find((row) => row.getBoundingClientRect().top >= 90).querySelector('.tab').href,
    }))()`;
    await scrollBy(page, 2_000);
    const upright = await page.evaluate(measure);
    assert.ok(upright.wide <= 0 && upright.row >= 44, JSON.stringify(upright));
    assert.equal(await page.evaluate("document.documentElement.dataset.device"), "phone");
    await page.resize(844, 390, true, 2);
    await page.until("the turned wall", `innerWidth === 844 &&
      [...document.querySelectorAll('.row .tab[href]')].some((tab) => {
        const { top } = tab.getBoundingClientRect();
        return tab.href === ${JSON.stringify(upright.first)} && top > 0 && top < 390;
      })`);
    assert.deepEqual(page.troubles, []);
  });
});
