// Cards, their pictures and the Share buttons in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { withMap } from "./sample-map.mjs";
import { sampleSite } from "./sample.mjs";
import { atRest, FILLED, MISPLACED, scrollBy, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const BUNDLE = 7;
const SLOT = 40;
const OPEN = "document.querySelector('dialog[open]')";
const CONTENT = "document.querySelector('dialog[open] .card-content')";
const BAR = "document.querySelector('.share-bar:not([hidden])')";
const CALM = { "prefers-reduced-motion": "reduce" };
const DESKTOP = { media: CALM };
const PHONE = { width: 390, height: 844, phone: true, media: CALM };
const SMALL = { width: 320, height: 640, phone: true, media: CALM };

const EDGES = [
  { url: "https://a.example", title: "", icon: "" },
  {
    url: `https://${"long-label-".repeat(5)}x.${"second-".repeat(8)}y.example`,
    title: "W".repeat(300),
  },
  { url: "https://xn--bcher-kva.example", title: "مكتبة الأطفال في المدينة القديمة" },
  { url: "http://[2001:db8::1]", title: "👩‍👩‍👧‍👦 family 🌿 garden" },
  { url: "https://xn--80ak6aa92e.com", title: "\u202egnippils txeT\u202c" },
];

function edgeSample() {
  const sample = sampleSite({ bundles: 20 });
  const { bundle } = sample;
  sample.bundle = (number) => {
    const { entries } = bundle(number);
    if (number !== BUNDLE) return { entries };
    const icon = entries.find((entry) => entry.icon_w === 32);
    entries[SLOT] = { ...icon, url: entries[SLOT].url, title: "Found Site", iframe_ok: false };
    EDGES.forEach((edge, i) => {
      entries[SLOT + 1 + i] = { icon: icon.icon, ...edge };
    });
    return { entries };
  };
  return sample;
}

const sample = edgeSample();
const HOST = new URL(sample.bundle(BUNDLE).entries[SLOT].url).hostname;
const NAME = HOST.replace(/^www\./, "");
const SENTENCE = `${NAME} is tab 881 of 2,400`;
/** 20 bundles with 120 tabs: half the square root of 2,400 is 24, so the last digit is unknown. */
const ESTIMATE = `${NAME} is around tab 880 of 2,400`;

const stub = (share, copy = "async (text) => { window.copied.push(text); }") => `(() => {
  window.shared = [];
  window.copied = [];
  const set = (object, name, value) => Object.defineProperty(object, name,
    { value, configurable: true });
  set(navigator, 'share', ${share});
  set(navigator, 'clipboard', { writeText: ${copy} });
})()`;
const SHEET = "async (what) => { window.shared.push(what); }";
const fails = (name) => `async () => { throw new DOMException('no', '${name}'); }`;
const press = (name) => `[...document.querySelectorAll('dialog[open] button, .share-bar button')]
  .find((one) => one.checkVisibility() && one.textContent === ${JSON.stringify(name)}).click()`;
/** Keeps the saved picture instead of downloading it. */
const CATCH_PICTURE = `(() => {
  const { createObjectURL } = URL;
  URL.createObjectURL = (blob) => {
    window.picture = blob;
    return createObjectURL.call(URL, blob);
  };
  const { click } = HTMLAnchorElement.prototype;
  HTMLAnchorElement.prototype.click = function () {
    if (this.download) window.pictureName = this.download;
    else click.call(this);
  };
})()`;
const PICTURE = `(async () => {
  const bitmap = await createImageBitmap(window.picture);
  const context = Object.assign(document.createElement('canvas'),
    { width: bitmap.width, height: bitmap.height }).getContext('2d', { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const at = (x, y) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3);
  const ground = at(540, 300);
  const marks = (x, y, width, height) => {
    const { data } = context.getImageData(x, y, width, height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      found += ground.some((part, k) => Math.abs(part - data[i + k]) > 40) ? 1 : 0;
    }
    return found;
  };
  return {
    type: window.picture.type, size: [bitmap.width, bitmap.height], name: window.pictureName,
    ground, middle: at(272, 356), text: marks(544, 132, 608, 390), title: marks(544, 440, 608, 82),
    margins: marks(1152, 90, 48, 540) + marks(500, 90, 40, 540) + marks(0, 590, 1200, 40),
  };
})()`;
const DIGITS = `(async () => {
  const bitmap = await createImageBitmap(window.picture, 544, 200, 608, 200);
  const canvas = Object.assign(document.createElement('canvas'), { width: 608, height: 200 });
  canvas.getContext('2d').drawImage(bitmap, 0, 0);
  return canvas.toDataURL();
})()`;
const SAID = "document.querySelector('dialog[open] [role=status]').textContent";
const HEADING = "document.querySelector('dialog[open] h2').textContent.replace(/\\s+/g, ' ')";

describe("cards and sharing", { skip, concurrency: false }, () => {
  const visits = visitsOfSuite(program);
  const find = async (view, options = {}) => {
    const visit = await visits.visit(sample, {
      view, hash: `#seed=7&site=${HOST}`, until: `${FILLED} && ${BAR}`, ...options,
    });
    const requests = [];
    visit.page.on("Network.requestWillBeSent", ({ request }) => requests.push(request.url));
    return { ...visit, requests };
  };
  const openCard = async (page) => {
    await page.evaluate(press("Show its card"));
    await page.until("the card", OPEN);
  };

  for (const [device, view] of Object.entries({ desktop: DESKTOP, phone: PHONE, small: SMALL })) {
    test(`a found site's card shows number, icon, title, neighbours, scan: ${device}`, async () => {
      const { page, server, requests } = await find(view);
      await page.until("the number", `${BAR}.querySelector('p').textContent === '${SENTENCE}'`);
      await openCard(page);
      assert.equal(await page.evaluate(HEADING), SENTENCE);
      await page.until("the date", `${OPEN}.innerText.includes(
        'From Common Crawl\\'s CC-MAIN-2099-05, published on February 1, 2099')`);
      await page.until("the icon", "document.querySelector('.card-portrait img').width === 256");
      const seen = await page.evaluate(`(() => {
        const icon = document.querySelector('.card-portrait img');
        const box = icon.getBoundingClientRect();
        return {
          sides: [icon.naturalWidth, box.width, box.height],
          rendering: getComputedStyle(icon).imageRendering,
          title: document.querySelector('.card-quote').textContent,
          names: [...document.querySelectorAll('.card-neighbours button')]
            .map((one) => [one.textContent, one.querySelector('img').hasAttribute('src')]),
          focus: document.activeElement === ${OPEN}.querySelector('h2'),
          // A name that is cut shows its end.
          ends: [...document.querySelectorAll('.card-neighbours button')].map((one) => {
            const [box, name] = ['span', 'bdi'].map((tag) =>
              one.querySelector(tag).getBoundingClientRect());
            return name.right <= box.right + 1;
          }),
        };
      })()`);
      assert.deepEqual(seen.sides, [32, 256, 256]);
      assert.equal(seen.rendering, "pixelated");
      assert.equal(seen.title, "Found Site");
      assert.ok(seen.focus);
      assert.deepEqual(new Set(seen.ends), new Set([true]));
      assert.equal(seen.names.length, 8);
      assert.deepEqual(seen.names.slice(4), [
        ["a.example", false],
        [new URL(EDGES[1].url).hostname, true],
        ["bücher.example", true],
        ["[2001:db8::1]", true],
      ]);
      const { wide, cut } = await page.evaluate(MISPLACED);
      assert.deepEqual([wide, cut], [false, []]);
      assert.deepEqual(page.troubles, []);
      assert.deepEqual(requests.filter((url) => !url.startsWith(server.url) &&
        !url.startsWith("data:")), []);
    });

    test(`a neighbour's card replaces the card, whatever its name: ${device}`, async () => {
      const { page } = await find(view);
      await openCard(page);
      const expected = ["a.example", new URL(EDGES[1].url).hostname, "bücher.example",
        "[2001:db8::1]", "xn--80ak6aa92e.com"];
      for (const [i, name] of expected.entries()) {
        await page.evaluate(press(name));
        const heading = await page.evaluate(HEADING);
        assert.equal(heading, `${name} is tab ${882 + i} of 2,400`);
        const seen = await page.evaluate(`({
          hasTitle: document.querySelector('.card-quote').checkVisibility(),
          letter: document.querySelector('.card-portrait span')?.textContent ?? '',
          rtl: document.querySelector('.card-quote').matches(':dir(rtl)'),
          wide: ${CONTENT}.scrollWidth > ${CONTENT}.clientWidth,
          focus: document.activeElement.tagName,
        })`);
        assert.deepEqual(seen, {
          hasTitle: i > 0, letter: i === 0 ? "A" : "", rtl: i === 2, wide: false, focus: "H2",
        }, name);
        const { wide, cut } = await page.evaluate(MISPLACED);
        assert.deepEqual([wide, cut], [false, []], name);
      }
      assert.deepEqual(page.troubles, []);
    });
  }

  test("the exact number replaces the estimate in heading, link and picture", async () => {
    const { page } = await find(DESKTOP, { late: { [`t/${BUNDLE}.html`]: 1_000 } });
    assert.equal(await page.evaluate(`${BAR}.querySelector('p').textContent`), ESTIMATE);
    await openCard(page);
    await page.evaluate(CATCH_PICTURE);
    const digits = [];
    for (const sentence of [ESTIMATE, SENTENCE]) {
      await page.until(sentence, `${HEADING} === '${sentence}'`);
      await page.evaluate(stub(SHEET));
      await page.evaluate(press("Share"));
      assert.equal(await page.evaluate("window.shared[0].text"), sentence);
      await page.evaluate(`window.picture = null; ${press("Save picture")}`);
      await page.until("the picture", "window.picture");
      digits.push(await page.evaluate(DIGITS));
    }
    assert.notEqual(digits[0], digits[1]);
    assert.equal(await page.evaluate("document.activeElement.tagName"), "H2");
    assert.deepEqual(page.troubles, []);
  });

  for (const [what, change] of Object.entries({
    "of another scan": (html) => html.replace("data-scan=\"scans/", "data-scan=\"scans/other-"),
    "without a number": (html) => html.replace(/ data-first="\d+"/, ""),
    "with another number of tabs": (html) => html.replace(/data-tabs="\d+"/, "data-tabs=\"119\""),
    "with a number above the total": (html) => html.replace(/first="\d+"/, "first=\"2399\""),
    "that is not a page": () => "[]",
  })) {
    test(`the number remains an estimate if the link page is one ${what}`, async () => {
      const body = change(sample.linkPage(BUNDLE));
      const { page, server } = await find(DESKTOP, {
        replace: (path) => (path === `t/${BUNDLE}.html` ? { status: 200, body } : null),
      });
      await openCard(page);
      const seen = `[${HEADING}, ${BAR}.querySelector('p').textContent]`;
      assert.deepEqual(await atRest(page, seen), [ESTIMATE, ESTIMATE]);
      assert.ok(server.asked.includes(`/t/${BUNDLE}.html`));
    });
  }

  test("text that is one and a half times as large does not widen the card at 320 px", async () => {
    const { page } = await find(SMALL);
    await page.evaluate(`document.adoptedStyleSheets.push((() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync('html { font-size: 150%; }');
      return sheet;
    })())`);
    await openCard(page);
    assert.deepEqual(await page.evaluate(`[${CONTENT}.scrollWidth > ${CONTENT}.clientWidth,
      document.documentElement.scrollWidth > innerWidth]`), [false, false]);
    const inView = await page.evaluate(`[...document.querySelectorAll('.card-actions button')]
      .every((one) => {
        const box = one.getBoundingClientRect();
        return box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
      })`);
    assert.ok(inView);
  });

  test("Share opens the share sheet if there is one, else it copies the link", async () => {
    const { page, server } = await find(DESKTOP);
    const url = `${server.url}t/${BUNDLE}.html#${HOST}`;
    await openCard(page);
    await page.evaluate(stub(SHEET));
    await page.evaluate(press("Share"));
    await page.until("the sheet", "window.shared.length === 1");
    assert.deepEqual(await page.evaluate("[window.shared[0], window.copied.length]"),
      [{ title: NAME, text: SENTENCE, url }, 0]);
    assert.equal(await page.evaluate(SAID), "");
    await page.evaluate(stub(fails("AbortError")));
    await page.evaluate(press("Share"));
    await atRest(page, SAID);
    assert.deepEqual(await page.evaluate(`[window.copied, ${SAID}]`), [[], ""]);
    for (const sheet of ["undefined", fails("NotAllowedError")]) {
      await page.evaluate(stub(sheet));
      await page.evaluate(press("Share"));
      await page.until("the message", `${SAID} === 'Link copied'`);
      assert.deepEqual(await page.evaluate("window.copied"), [url]);
    }
    await page.evaluate(stub("undefined", fails("NotAllowedError")));
    await page.evaluate(press("Share"));
    await page.until("the link itself", `${SAID}.endsWith(${JSON.stringify(url)})`);
    assert.deepEqual(page.troubles, []);
  });

  for (const [scheme, ground] of [["light", [255, 255, 255]], ["dark", [66, 71, 79]]]) {
    test(`a picture shows the card within its margins, whatever the site: ${scheme}`, async () => {
      const view = { media: { ...CALM, "prefers-color-scheme": scheme } };
      const { page, server, requests } = await find(view);
      await openCard(page);
      await page.evaluate(CATCH_PICTURE);
      const names = ["", "a.example", new URL(EDGES[1].url).hostname, "bücher.example",
        "[2001:db8::1]"];
      const files = [`everytab-${HOST}`, "everytab-a.example", undefined,
        "everytab-xn-bcher-kva.example", "everytab-2001-db8-1"];
      for (const [i, name] of names.entries()) {
        if (name) await page.evaluate(press(name));
        await page.evaluate(`window.picture = null; ${press("Save picture")}`);
        await page.until("the picture", "window.picture");
        await page.until("the message", `${SAID}.startsWith('Saved as everytab-')`);
        const seen = await page.evaluate(PICTURE);
        assert.deepEqual([seen.type, seen.size], ["image/png", [1_200, 630]]);
        assert.deepEqual(seen.ground, ground);
        assert.ok(seen.text > 3_000, `text of ${name}: ${seen.text}`);
        if (i !== 1) assert.ok(seen.title > 100, `title of ${name}: ${seen.title}`);
        assert.equal(seen.margins, 0, name);
        assert.match(seen.name, /^[a-z0-9.-]{1,120}\.png$/);
        if (files[i]) assert.equal(seen.name, `${files[i]}.png`);
        const expected = i === 1 ? null : await page.evaluate(`(() => {
          const icon = document.querySelector('.card-portrait img');
          const context = Object.assign(document.createElement('canvas'),
            { width: 32, height: 32 }).getContext('2d');
          context.drawImage(icon, 0, 0);
          return [...context.getImageData(16, 16, 1, 1).data].slice(0, 3);
        })()`);
        if (expected) assert.deepEqual(seen.middle, expected, name);
      }
      assert.deepEqual(page.troubles, []);
      const own = (url) => url.startsWith(server.url) || /^(?:data|blob):/.test(url);
      assert.deepEqual(requests.filter((url) => !own(url)), []);
    });
  }

  test("Escape closes only the card, and the focus returns to the open site's button", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), { view: DESKTOP });
    await page.evaluate("document.querySelector('.row .tab[href]:not(.outside)').click()");
    await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
    const host = await page.evaluate("document.querySelector('#site .host').textContent");
    await page.evaluate(`document.querySelector('#site [data-part=card]').focus()`);
    await page.key("Enter");
    await page.until("the card", OPEN);
    assert.ok((await page.evaluate(HEADING)).startsWith(host.replace(/^www\./, "")));
    await page.key("Escape");
    await page.until("no card", `!${OPEN}`);
    assert.deepEqual(await page.evaluate(`[document.querySelector('#site').hidden,
      document.activeElement.dataset.part]`), [false, "card"]);
    await page.key("Enter");
    await page.until("the card", OPEN);
    for (let i = 0; i < 14; i += 1) {
      await page.key("Tab");
      assert.ok(await page.evaluate(`document.activeElement === document.body ||
        ${OPEN}.contains(document.activeElement)`));
    }
    assert.deepEqual(page.troubles, []);
  });

  test("the bar goes with its tab, or when it is closed, and takes no focus", async () => {
    const { page } = await find(DESKTOP);
    assert.ok(await page.evaluate("document.activeElement.matches('.tab.found')"));
    await page.evaluate(`${BAR}.querySelector('.card-close').focus()`);
    await page.key("Enter");
    await page.until("no bar", `!${BAR}`);
    assert.equal(await page.evaluate("document.activeElement.id"), "wall");
    await page.evaluate(`location.hash = '#seed=8&site=${HOST}'`);
    await page.until("the bar", BAR);
    await page.evaluate("document.querySelector('#shuffle').click()");
    await page.until("no bar", `!${BAR}`);
  });

  test("the wall is shared with its seed and place, on a phone after scrolling", async () => {
    for (const view of [DESKTOP, PHONE]) {
      const { page, server } = await visits.visit(sampleSite({ bundles: 40 }), { view });
      await scrollBy(page, 900);
      const [hash] = await atRest(page);
      assert.match(hash, /^#seed=7&tab=\d+$/);
      await page.evaluate(stub(SHEET));
      const button = "document.querySelector('.share-wall')";
      await page.until("the button", `${button}.checkVisibility()`);
      await page.evaluate(`${button}.click()`);
      await page.until("the summary", OPEN);
      await page.evaluate(press("Share"));
      await page.until("the sheet", "window.shared.length === 1");
      assert.equal(await page.evaluate("window.shared[0].url"), server.url + hash);
      await visits.leave();
    }
  });

  test("a group is shared when it is used, by its bundle's address", async () => {
    const domains = sampleSite({ bundles: 20, domains: ["com", "com", "org"] });
    const { page, server } = await visits.visit(domains, { view: DESKTOP });
    await page.until("a group", "document.querySelector('.has-group .chip')");
    const host = await page.evaluate(`(() => {
      const chip = document.querySelector('.has-group .chip');
      const { hostname } = new URL(chip.closest('.tab').href);
      chip.click();
      return hostname;
    })()`);
    await page.until("the bar", BAR);
    assert.match(await page.evaluate(`${BAR}.innerText`), /^Group \.(?:com|org): \d tabs/);
    await page.evaluate(stub("undefined"));
    await page.evaluate(press("Share"));
    await page.until("the message", `${BAR}.innerText.includes('Link copied')`);
    const bundle = Math.floor(/-(\d+)\./.exec(host)[1] / 120);
    assert.deepEqual(await page.evaluate("window.copied"), [`${server.url}t/${bundle}.html`]);
    assert.deepEqual(page.troubles, []);
  });

  test("the map shares the place in view, and the card of the chosen tab", async () => {
    for (const view of [DESKTOP, PHONE]) {
      const { page, server } = await visits.visit(withMap(edgeSample()), {
        view, path: "map.html#20.5,30.25,40", until: "document.querySelector('#seen').textContent",
      });
      const hash = await atRest(page, "location.hash");
      await page.evaluate(stub("undefined"));
      await page.evaluate("document.querySelector('#share-view').click()");
      await page.until("the message",
        "document.querySelector('#message').textContent === 'Link copied'");
      assert.deepEqual(await page.evaluate("window.copied"), [`${server.url}map.html${hash}`]);
      await page.evaluate(`location.hash = '#site=${HOST}'`);
      await page.until("the map's card", "!document.querySelector('#tab-card').hidden");
      await page.until("the count of found sites",
        `JSON.parse(sessionStorage.getItem('visit')).found.includes('${HOST}')`);
      await page.evaluate("document.querySelector('#tab-card [data-part=card]').focus()");
      await page.key("Enter");
      await page.until("the card", OPEN);
      await page.until("the number", `${HEADING} === '${SENTENCE}'`);
      await page.key("Escape");
      await page.until("no card", `!${OPEN}`);
      assert.deepEqual(await page.evaluate(`[document.querySelector('#tab-card').hidden,
        document.activeElement.dataset.part]`), [false, "card"]);
      assert.deepEqual(page.troubles, []);
      await visits.leave();
    }
  });

  test("a card that cannot be loaded is reported, and can be tried again", async () => {
    let missing = true;
    const { page } = await find(DESKTOP, {
      replace: (path) => (missing && path === "js/site-card.js" ? { status: 404 } : null),
    });
    await page.evaluate(press("Show its card"));
    await page.until("the message",
      "document.querySelector('#notice').textContent.includes('can\\'t be shown right now')");
    missing = false;
    await openCard(page);
    assert.equal(await page.evaluate("document.querySelector('#notice').textContent"), "");
  });

  test("a message about a failed Share does not stay after one that works", async () => {
    const { page: map } = await visits.visit(withMap(sample), {
      view: SMALL, path: "map.html", until: "document.querySelector('#seen').textContent",
    });
    const message = "document.querySelector('#message').textContent";
    await map.evaluate(stub("undefined", fails("NotAllowedError")));
    await map.evaluate("document.querySelector('#share-view').click()");
    await map.until("the failure", `${message}.startsWith('The link couldn')`);
    assert.ok(await map.evaluate(`document.querySelector('.state').getBoundingClientRect().right <=
      document.querySelector('.zoom').getBoundingClientRect().left`));
    await map.evaluate(stub(SHEET));
    await map.evaluate("document.querySelector('#share-view').click()");
    await map.until("the sheet", "window.shared.length === 1");
    assert.equal(await atRest(map, message), "");
    const domains = sampleSite({ bundles: 20, domains: ["com", "com", "org"] });
    const { page } = await visits.visit(domains, { view: DESKTOP });
    await page.until("a group", "document.querySelector('.has-group .chip')");
    await page.evaluate("document.querySelector('.has-group .chip').click()");
    await page.until("the bar", BAR);
    await page.evaluate(stub("undefined", fails("NotAllowedError")));
    await page.evaluate(press("Share"));
    await page.until("the failure", `${BAR}.innerText.includes('The link couldn')`);
    await page.evaluate(stub(SHEET));
    await page.evaluate(press("Share"));
    await page.until("the sheet", "window.shared.length === 1");
    assert.match(await atRest(page, `${BAR}.querySelector('p').textContent`), /^Group \./);
  });
});
