// The page's layout, motion and search in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { HOSTILE_TITLES, iconPng, sampleSite } from "./sample.mjs";
import { generator } from "../js/stream.js";
import { FILLED, MISPLACED, PAGES, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const SITE = fileURLToPath(new URL("../", import.meta.url));
const WIDTHS = [[360, 780], [768, 1024], [1440, 900], [2560, 1440]];
const view = ([width, height], scheme, more = {}) => ({
  width, height, phone: width < 1000, media: { "prefers-color-scheme": scheme, ...more },
});

const MOTION = `(() => {
  const button = document.querySelector('#motion');
  return [button.ariaLabel, [...button.querySelectorAll('path')]
    .filter((one) => getComputedStyle(one).display !== 'none')
    .map((one) => one.getAttribute('class'))];
})()`;

describe("how the page looks, moves and finds", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);

  for (const size of WIDTHS) {
    for (const scheme of ["light", "dark"]) {
      test(`nothing is cut or overlaps at ${size[0]} px, ${scheme}, on any page`, async () => {
        const sample = withMap(sampleSite({ bundles: 20 }));
        for (const [path, until] of Object.entries(PAGES)) {
          const { page } = await visits.visit(sample, { view: view(size, scheme), path, until });
          assert.deepEqual(await page.evaluate(MISPLACED), { wide: false, cut: [], over: 0 }, path);
          assert.deepEqual(page.troubles, [], path);
          await visits.leave();
        }
      });
    }
  }

  test("rows move to both sides by one transform, without a gap, if seen", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 50 }));
    await page.until("motion", "document.getAnimations().length > 10");
    const seen = await page.evaluate(`(async () => {
      const lefts = () => [...document.querySelectorAll('.row:not([hidden])')].map((row) =>
        [...row.querySelectorAll('.tab:not([hidden])')]
          .map((tab) => tab.getBoundingClientRect().left).sort((a, b) => a - b));
      const widths = (row) => row.slice(1).map((left, i) => left - row[i]);
      const before = lefts();
      const rows = [...document.querySelectorAll('.row:not([hidden])')];
      const inView = rows.map((row) => row.getBoundingClientRect())
        .map((box) => box.bottom > 100 && box.top < innerHeight - 40);
      const movedInView = () => inView.filter((one, i) => one && before[i][0] !== lefts()[i][0]);
      // Rows move in frames, and a busy host draws few frames.
      while (movedInView().length <= 10) await new Promise((done) => setTimeout(done, 100));
      const animations = document.getAnimations();
      return {
        sides: new Set(rows.map((row) => row.querySelector('.track').getAnimations()[0])
          .filter(Boolean).map((one) => Math.sign(new DOMMatrix(
            one.effect.getKeyframes()[1].transform).e))).size,
        properties: [...new Set(animations.flatMap((one) => one.effect.getKeyframes()
          .flatMap((frame) => Object.keys(frame))))].filter((name) => name === 'transform' ||
          !['offset', 'easing', 'composite', 'computedOffset'].includes(name)),
        unseen: rows.filter((row) => {
          const box = row.getBoundingClientRect();
          return (box.bottom < 0 || box.top > innerHeight) && row.getAnimations({ subtree: true })
            .length > 0;
        }).length,
        // One "+" with 34 px is between two tabs in a row, or at its edge.
        gaps: lefts().flat().length && lefts().map(widths).filter((by) => by.length > 3 &&
          by.filter((px) => px - Math.min(...by) > 0.6).length > 1 ||
          by.some((px) => px - Math.min(...by) > 35)).length,
        open: lefts().filter((row) => row.length > 3 && (row[0] > 34.5 ||
          row.at(-1) + Math.min(...widths(row)) < innerWidth - 54)).length,
      };
    })()`);
    assert.equal(seen.sides, 2);
    assert.deepEqual(seen.properties, ["transform"]);
    assert.equal(seen.unseen, 0);
    assert.deepEqual([seen.gaps, seen.open], [0, 0]);
  });

  test("tabs go round when a row has moved far", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 50 }));
    await page.until("motion", "document.getAnimations().length > 10");
    const filled = `[...document.querySelectorAll('.row:not([hidden])')].slice(0, 15)
      .every((row) => {
      const boxes = [...row.querySelectorAll('.tab')].map((tab) => tab.getBoundingClientRect());
      return Math.min(...boxes.map((box) => box.left)) <= 34.5 &&
        Math.max(...boxes.map((box) => box.right)) >= innerWidth - 54;
    })`;
    for (const ms of [33_000, 71_000, 260_000]) {
      await page.evaluate(
        `document.getAnimations().forEach((one) => { one.currentTime += ${ms}; })`);
      await page.until("full rows", filled);
    }
  });

  test("a row stops while it is pointed at or focused, and all stop when told to", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 50 }));
    const running = (row) => `document.querySelectorAll('.row')[${row}]
      .querySelector('.track').getAnimations().length`;
    await page.until("motion", `${running(5)} === 1`);
    const y = await page.evaluate(
      "document.querySelectorAll('.row')[5].getBoundingClientRect().top + 20");
    await page.pointAt(500, y);
    await page.until("a stopped row", `${running(5)} === 0 && ${running(7)} === 1`);
    await page.pointAt(500, 20);
    await page.until("motion again", `${running(5)} === 1`);
    await page.evaluate("document.querySelectorAll('.row')[6].querySelector('.tab').focus()");
    await page.until("the focused row to stop", `${running(6)} === 0`);
    await page.evaluate("document.querySelector('#motion').click()");
    await page.until("stopped rows", "document.getAnimations().length === 0");
    assert.deepEqual(await page.evaluate(MOTION), ["Start the motion", ["starts"]]);
    await page.evaluate("document.querySelector('#motion').click()");
    await page.until("motion", "document.getAnimations().length > 10");
    assert.deepEqual(await page.evaluate(MOTION), ["Stop the motion", ["stops"]]);
  });

  test("who asks for less motion sees none, and every row begins with a whole tab", async () => {
    const calm = { media: { "prefers-reduced-motion": "reduce" } };
    const { page } = await visits.visit(sampleSite({ bundles: 50 }), { view: calm });
    await scrollBy(page, 300);
    const seen = await page.evaluate(`new Promise((done) => setTimeout(() => done({
      animations: document.getAnimations().length,
      cut: [...document.querySelectorAll('.row:not([hidden])')].filter((row) =>
        ![...row.querySelectorAll('.tab')].some((tab) =>
          Math.abs(tab.getBoundingClientRect().left) < 0.5)).length,
    }), 600))`);
    assert.deepEqual(seen, { animations: 0, cut: 0 });
    const [name, pictures] = await page.evaluate(MOTION);
    assert.match(name, /^Start motion .*your device/);
    assert.deepEqual(pictures, ["starts"]);
    await page.evaluate("document.querySelector('#motion').click()");
    await page.until("motion", "document.getAnimations().length > 10");
  });

  test("the visitor's browser is told, and the others can be looked at", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 50 }));
    const skin = "document.documentElement.dataset.skin";
    assert.equal(await page.evaluate(skin), "chrome");
    const looks = new Set();
    for (const name of ["edge", "firefox", "safari", "chrome"]) {
      await page.evaluate(`(() => {
        const select = document.querySelector('#skin');
        select.value = '${name}';
        select.dispatchEvent(new Event('change'));
      })()`);
      await page.until(name, `${skin} === '${name}' && ${FILLED}`);
      looks.add(await page.evaluate(`(() => {
        const tab = document.querySelector('.row .tab.active');
        const { borderRadius, backgroundColor, fontSize, boxShadow } = getComputedStyle(tab);
        return [borderRadius, backgroundColor, fontSize, boxShadow].join();
      })()`));
    }
    assert.equal(looks.size, 4);
    assert.deepEqual(page.troubles, []);
  });

  test("a name that is typed is suggested, and Enter lights up its tab in its row", async () => {
    const sample = sampleSite({ bundles: 80 });
    const { page, server } = await visits.visit(sample);
    const host = new URL(sample.bundle(61).entries[37].url).hostname;
    await page.evaluate("document.querySelector('#find').focus()");
    const typed = host.replace("www.", "").slice(0, 12);
    const before = server.asked.length;
    await page.call("Input.insertText", { text: typed });
    await page.until("suggestions", "document.querySelectorAll('#found [role=option]').length > 0");
    const asked = server.asked.slice(before).filter((path) => path.includes("/search/"));
    assert.ok(asked.length <= 2, `${asked}`);
    const shown = await page.evaluate(
      "[...document.querySelectorAll('#found li')].map((item) => item.textContent)");
    assert.ok(shown.every((name) => name.startsWith(typed)), `${shown}`);
    await page.evaluate("document.querySelector('#find').select()");
    await page.call("Input.insertText", { text: `https://${host}/` });
    // The box waits for the result and does not use a former suggestion.
    await page.key("Enter");
    await page.until("the tab, lit up", `(() => {
      const tab = document.querySelector('.row .tab.found');
      const box = tab?.getBoundingClientRect();
      return tab && new URL(tab.href).hostname === ${JSON.stringify(host)} &&
        box.top >= 80 && box.bottom <= innerHeight && box.left >= -1 && box.right <= innerWidth &&
        document.activeElement === tab;
    })()`);
    assert.match(await page.evaluate("location.hash"), /^#seed=\d+&site=/);
    assert.deepEqual(page.troubles, []);
  });

  test("a suggestion has its icon where its tabs are at hand, and asks for none", async () => {
    const sample = sampleSite({ bundles: 80 });
    const { page, server } = await visits.visit(sample);
    const near = await page.evaluate(`(() => {
      const tab = document.querySelector('.row .tab[href]:has(img[src])');
      return { host: new URL(tab.href).hostname, icon: tab.querySelector('img').src };
    })()`);
    const isHeld = (number) => server.asked.some((path) => path.endsWith(`/tabs/${number}.json`));
    const far = Array.from({ length: 80 }, (_, i) => i).find((number) => !isHeld(number));
    const farHost = new URL(sample.bundle(far).entries[3].url).hostname;
    await page.evaluate("document.querySelector('#find').focus()");
    for (const [host, icon] of [[near.host, near.icon], [farHost, null]]) {
      const bundles = server.asked.filter((path) => path.includes("/tabs/")).length;
      await page.evaluate("document.querySelector('#find').select()");
      await page.call("Input.insertText", { text: host });
      const name = host.replace("www.", "");
      await page.until("its suggestion", `(() => {
        const items = document.querySelectorAll('#found [role=option]');
        return items.length === 1 && items[0].textContent === ${JSON.stringify(name)};
      })()`);
      const shown = await page.evaluate("document.querySelector('#found img')?.src ?? null");
      assert.equal(shown, icon);
      assert.equal(server.asked.filter((path) => path.includes("/tabs/")).length, bundles);
    }
    assert.deepEqual(page.troubles, []);
  });

  test("the lines for robots.txt are copied as they stand on the bot's page", async () => {
    const until = "document.querySelector('[data-copies]:not([hidden])')";
    const { page, server } = await visits.visit(sampleSite({ bundles: 2 }), {
      path: "bot.html", until,
    });
    await visits.browser.call("Browser.grantPermissions", {
      origin: new URL(server.url).origin, permissions: ["clipboardReadWrite"],
    });
    await page.call("Page.bringToFront");
    await page.evaluate("document.querySelector('[data-copies=robots-lines]').click()");
    await page.until("the word",
      "document.querySelector('[data-copies=robots-lines] + .copied').textContent === 'Copied'");
    const copied = await page.evaluate("navigator.clipboard.readText()");
    assert.equal(copied, "User-agent: EveryTabBot\nDisallow: /\n");
    assert.deepEqual(page.troubles, []);
  });

  test("what nobody is called is said, and the list closes with Escape", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.evaluate("document.querySelector('#find').focus()");
    await page.call("Input.insertText", { text: "amber-nobody" });
    await page.until("the words",
      "document.querySelector('#found-status').textContent.includes('No web')");
    await page.key("Escape");
    await page.until("its end", "document.querySelector('#found-status').textContent === ''");
    assert.deepEqual(page.troubles, []);
  });

  test("the address can be copied and reported from the viewer", async () => {
    const sample = sampleSite({ bundles: 20 });
    sample.manifest.contact = "mailto:write@tabs.example";
    const { page, server } = await visits.visit(sample);
    await visits.browser.call("Browser.grantPermissions", {
      origin: new URL(server.url).origin, permissions: ["clipboardReadWrite"],
    });
    await page.call("Page.bringToFront");
    await page.evaluate("document.querySelector('.row .tab[href]:not(.outside)').click()");
    await page.until("the viewer", "!document.querySelector('#site').hidden");
    const report = await page.evaluate("document.querySelector('[data-part=report]').href");
    const host = await page.evaluate("document.querySelector('.host').textContent");
    const subject = encodeURIComponent(`EveryTab: ${host}`);
    assert.equal(report, `mailto:write@tabs.example?subject=${subject}`);
    await page.evaluate("document.querySelector('[data-part=copy]').click()");
    await page.until("the word",
      "/opied/.test(document.querySelector('[data-part=copied]').textContent)");
  });

  test("a site that never comes leaves a way out", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await page.call("Fetch.disable");
    await page.call("Fetch.enable", { patterns: [{ urlPattern: "https://*" }] });
    page.listeners = [];
    await page.evaluate("document.querySelector('.row .tab[href]:not(.outside)').click()");
    await page.until("the hint",
      "document.querySelector('#site').dataset.state === 'late'");
    assert.match(await page.evaluate("document.querySelector('[data-part=out]').href"), /^https:/);
  });

  test("the first tabs take three trips, ten requests and 150 KB", async () => {
    const sample = sampleSite({ bundles: 50 });
    const { page, server } = await visits.visit(sample, { gzip: true });
    // The browser requests its own icon at any time, and the page does not wait for it.
    const asked = server.asked.filter((path) => path !== "/favicon.ico");
    const at = asked.findIndex((path) => path.includes("/tabs/"));
    assert.ok(at + 1 <= 10, `${asked.slice(0, at + 1)}`);
    const entries = JSON.parse(await page.evaluate(`JSON.stringify(
      [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .map(({ name, transferSize }) => ({ name, transferSize })))`));
    const first = entries.slice(0, entries.findIndex(({ name }) => name.includes("/tabs/")) + 1);
    const bytes = first.reduce((sum, { transferSize }) => sum + transferSize, 0);
    assert.ok(bytes > 10_000 && bytes < 150 * 1024, `${bytes} bytes`);
    const html = readFileSync(`${SITE}index.html`, "utf8");
    for (const { name } of first.slice(1, -1)) {
      assert.ok(html.includes(`"${name.replace(server.url, "")}"`), name);
    }
  });

  test("ten thousand hostile tabs run nothing and break no line", async () => {
    const until = "document.querySelector('.row .tab[href]')";
    const { page } = await visits.visit(hostileSite(10_000), { until });
    let looked = 0;
    const seen = new Set();
    for (let step = 0; step < 400; step += 1) {
      const round = JSON.parse(await page.evaluate(`(() => {
        const tabs = [...document.querySelectorAll('.row:not([hidden]) .tab[href]')];
        const row = document.querySelector('.row:not([hidden])').getBoundingClientRect().height;
        return JSON.stringify({
          hrefs: tabs.map((tab) => tab.href),
          bad: tabs.filter((tab) => !/^https?:/.test(tab.href) || tab.children.length !== 2 ||
            tab.querySelector('.title').children.length > 0 ||
            tab.querySelector('.title').getBoundingClientRect().height > row ||
            Math.abs(tab.getBoundingClientRect().width -
              tab.parentNode.firstChild.getBoundingClientRect().width) > 0.5).length,
          wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
          owned: document.documentElement.dataset.owned ?? null,
          end: document.body.innerText.includes('every tab: '),
          below: document.documentElement.scrollHeight - scrollY - innerHeight,
        });
      })()`));
      round.hrefs.forEach((href) => seen.add(href));
      looked += round.hrefs.length;
      assert.deepEqual([round.bad, round.wide, round.owned], [0, false, null], `step ${step}`);
      if (round.end && round.below <= 0) break;
      await scrollBy(page, 700);
    }
    assert.ok(seen.size > 9_000 && looked > 9_000, `${seen.size} of 10,000 tabs looked at`);
    assert.deepEqual(page.troubles, []);
  });
});

function hostileSite(count) {
  const marks = "\u0300\u0301\u0334\u0489\u20dd\u0e49\u0e49";
  const random = generator(99);
  const makers = [
    (i) => HOSTILE_TITLES[i % HOSTILE_TITLES.length],
    (i) => `${"Z".repeat(1 + (i % 5))}${marks.repeat(40)} zalgo`,
    () => "\u202e\u2066\u2067evil\u2069\u202c moc.elpmaxe",
    () => "﷽".repeat(200),
    () => "🏳️‍🌈👩‍👩‍👧‍👦".repeat(50),
    () => "مرحبا ".repeat(60),
    () => "\u3000\u200b\u200c\u2060\ufeff",
    () => "</span></a><style>*{display:none}</style>",
    () => "&lt;b&gt;&#x3c;script&#x3e;",
    () => "𒐫".repeat(150),
    () => "a\u0000b\u0008c\u001b[31m\u2028d\r\n\te",
    () => "\ud800 lone \udfff",
    (i) => "W".repeat(1 + (i % 300)),
    () => "",
  ];
  const good = iconPng(32, random).toString("base64");
  const icons = ["", "AAAA", "iVBORw0KGgo=", "data:text/html,<script>", good];
  const base = sampleSite({ bundles: Math.ceil(count / 125), tabsABundle: 125 });
  return {
    ...base,
    bundle(number) {
      const entries = [];
      for (let slot = 0; slot < 125; slot += 1) {
        const i = number * 125 + slot;
        const host = i % 3 === 0 ? `${"a-".repeat(1 + (i % 28))}x${i}.example`
          : `xn--${i.toString(36)}-9za.${"l".repeat(1 + (i % 60))}.example`;
        entries.push({
          url: i % 50 === 7
            ? `javascript:document.documentElement.dataset.owned=${i}` : `https://${host}/`,
          title: makers[i % makers.length](i),
          icon: icons[i % icons.length],
          iframe_ok: i % 2 === 0,
        });
      }
      return { entries };
    },
  };
}
