// The search box in a real browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findChromium } from "./chromium.mjs";
import { until } from "./patience.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, HOLD_SEARCH, PAINTED, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const skip = program ? false : "no chromium is installed";
const OPTIONS = "[...document.querySelectorAll('#found [role=option]')]";
const STATUS = "document.querySelector('#found-status').textContent";

function withLines(lines, more = {}) {
  const sample = sampleSite({ bundles: 20 });
  Object.assign(sample.manifest, more);
  const files = new Map(Object.entries(lines).map(([name, text]) => [`${name}.tsv`, text]));
  sample.search = (name) => files.get(name);
  return sample;
}

const type = async (page, text) => {
  await page.evaluate("document.querySelector('#find').focus()");
  await page.evaluate("document.querySelector('#find').select()");
  await page.call("Input.insertText", { text });
};
const names = (page) => page.evaluate(
  `JSON.stringify(${OPTIONS}.map((item) => item.querySelector('span').textContent))`)
  .then((text) => JSON.parse(text));
const found = (page, text) =>
  page.until(`${text} in its row`, `document.querySelector('.row .tab.found') &&
    new URL(document.querySelector('.row .tab.found').href).hostname === ${JSON.stringify(text)}`);

describe("search", { skip, concurrency: 1 }, () => {
  const visits = visitsOfSuite(program);

  test("Enter after quick typing works though every module is late", async () => {
    const sample = sampleSite({ bundles: 40 });
    const host = new URL(sample.bundle(31).entries[3].url).hostname;
    const late = {};
    for (const module of ["interaction", "search", "search-files", "search-keys", "host-name"]) {
      late[`js/${module}.js`] = 1_100;
    }
    const { page } = await visits.visit(sample, { late, until: PAINTED });
    await type(page, host);
    await page.key("Enter");
    assert.equal(await page.evaluate(`${OPTIONS}.length`), 0, "the module is still on its way");
    await found(page, host);
    assert.deepEqual(page.troubles, []);
  });

  test("the box is fetched at rest, and what does not come is said", async () => {
    const { server } = await visits.visit(sampleSite({ bundles: 20 }));
    await until("a request for the search", () => server.asked.includes("/js/search.js"));
    for (const part of ["js/search.js", "/search/"]) {
      const { page } = await visits.visit(sampleSite({ bundles: 20 }), {
        replace: (path) => (path.includes(part) ? { status: 503 } : null),
      });
      await type(page, "amber");
      await page.until("the words", `${STATUS} === "Search isn't available right now."`);
    }
  });

  test("a whole name comes first, www. is no second answer, and the first is marked", async () => {
    const { page, server } = await visits.visit(withLines({
      "7/index": "goo.gl\ngoogle-1.xyz\ngoogle-2.xyz\ngoogle.ac\n",
      "7/0": "goo.gl\t1\t1\n",
      "7/1": Array.from({ length: 9 }, (_, i) => `google-1.x${i}z\t1\t${i}\n`).join(""),
      "7/2": "google-2.xyz\t2\t2\n",
      "7/3": "google.ac\t3\t1\ngoogle.com\t3\t2\nwww.google.com\t3\t3\n",
    }));
    const before = server.asked.length;
    await type(page, "google");
    await page.until("all names", `${OPTIONS}.length === 8`);
    assert.deepEqual((await names(page)).slice(0, 3), ["google.ac", "google.com", "google-1.x0z"]);
    assert.ok(server.asked.slice(before).filter((path) => path.includes("/search/")).length <= 5);
    const first = await page.evaluate(`(() => {
      const [item] = ${OPTIONS};
      const input = document.querySelector('#find');
      return [item.getAttribute('aria-selected'), input.getAttribute('aria-activedescendant'),
        item.id, item.querySelector('b').textContent, getComputedStyle(item).cursor].join();
    })()`);
    assert.equal(first, "true,choice-0,choice-0,google,pointer");
    await page.key("ArrowDown");
    await page.key("Enter");
    await page.until("the host in the field",
      "document.querySelector('#find').value === 'google.com'");
  });

  test("the best names come from their file, then middles of names and titles", async () => {
    const { page } = await visits.visit(withLines({
      "7/index": "garbage.com\ngarden-1.com\ngarden-2.com\n",
      "7/best/garden": "garden.org\t1\t1\t700\tNational Gardening\ngarden-1.com\t1\t2\n",
      "words/7/index": "gar\n",
      "words/7/0": "garden\tmy-garden.net\t2\t2\t90\tHome\n" +
        "garden\trhs.org.uk\t2\t3\t50\tGarden tools and advice\n" +
        "garden\tgarden.org\t1\t1\t700\tNational Gardening\ngarment\tx.org\t1\t1\t1\tX\n",
    }, { search: { best: true, words: true } }));
    await type(page, "garden");
    await page.until("all names", `${OPTIONS}.length === 4`);
    assert.deepEqual(await names(page),
      ["garden.org", "garden-1.com", "rhs.org.uk", "my-garden.net"]);
    assert.match(await page.evaluate(`${OPTIONS}[2].textContent`), /Garden tools and advice$/);
    await type(page, "garden tools");
    await page.until("one by its title",
      `${OPTIONS}.some((item) => item.textContent.includes('rhs.org.uk')) &&
      !${OPTIONS}.some((item) => item.textContent.includes('my-garden'))`);
  });

  test("a typing error is corrected among the best hosts, but only by choice", async () => {
    const { page } = await visits.visit(withLines({
      "7/index": "gitea.io\n",
      "7/0": "gitea.io\t1\t1\n",
      "7/best/_top": "git-scm.com\t1\t2\t80\t\ngithub.com\t1\t3\t20\t\ngithub.io\t1\t4\t30\t\n",
    }, { search: { best: true, words: false } }));
    for (const typed of ["githbu", "githubb", "gihub.com", "g1thub"]) {
      await type(page, typed);
      await page.until(typed, `${OPTIONS}[0]?.textContent === 'github.com'`);
      assert.equal(await page.evaluate(STATUS), "Did you mean one of these?");
    }
    await type(page, "git-scn");
    await page.until("another name", `${OPTIONS}[0]?.textContent === 'git-scm.com'`);
    await page.key("Enter");
    assert.equal(await page.evaluate("location.hash"), "#seed=7");
    await page.key("ArrowDown");
    await page.key("Enter");
    await page.until("the host in the field",
      "document.querySelector('#find').value === 'git-scm.com'");
  });

  test("names that imitate others are shown in Punycode", async () => {
    const hosts = ["аррӏе.com", "pаypal.com", "bücher.de", "президент.рф"]
      .map((host) => new URL(`https://${host}`).hostname);
    const { page } = await visits.visit(withLines({
      "27/index": "аррӏе.com\n",
      "27/0": `${hosts[0]}\t1\t1\n${hosts[3]}\t1\t2\n`,
      "16/index": "pаypal.com\n", "16/0": `${hosts[1]}\t1\t1\n`,
      "2/index": "bücher.de\n", "2/0": `${hosts[2]}\t1\t1\n`,
    }));
    for (const [typed, shown] of [
      ["аррӏе", "xn--80ak6aa92e.com"], ["pаy", "xn--pypal-4ve.com"], ["büch", "bücher.de"],
      ["през", "президент.рф"],
    ]) {
      await type(page, typed);
      await page.until(shown, `${OPTIONS}.length === 1 &&
        ${OPTIONS}[0].textContent === ${JSON.stringify(shown)}`);
    }
  });

  test("an empty answer is a status, which says what was not found", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), { until: FILLED });
    await type(page, "amber-nobody");
    await page.until("the words", `${STATUS}.startsWith('No website found.')`);
    const state = await page.evaluate(`(() => {
      const [list, status] = [document.querySelector('#found'), document.querySelector('.words')];
      return [list.hidden, list.children.length, status.getAttribute('role'),
        document.querySelector('#find').getAttribute('aria-expanded'),
        status.getBoundingClientRect().height > 20].join();
    })()`);
    assert.equal(state, "true,0,status,false,true");
  });

  test("a chosen site is lit and opened, if it can be framed, and Back leaves both", async () => {
    const sample = sampleSite({ bundles: 40 });
    const { entries } = sample.bundle(31);
    const isOpen = "!document.querySelector('#site').hidden";
    for (const isFrameable of [true, false]) {
      const { page } = await visits.visit(sample);
      const { url } = entries.find((one) => one.iframe_ok === isFrameable &&
        !one.url.includes("www."));
      const { hostname } = new URL(url);
      await type(page, hostname);
      await page.until("the name", `${OPTIONS}.length > 0`);
      await page.key("Enter");
      await found(page, hostname);
      await page.until("its address",
        `location.hash.endsWith('&site=${hostname}${isFrameable ? "&open" : ""}')`);
      assert.equal(await page.evaluate(isOpen), isFrameable);
      if (isFrameable) {
        await page.until("the site", "document.querySelector('#site').dataset.state === 'shown'");
      }
      await page.back();
      await page.until("the former wall", `location.hash === '#seed=7' && !(${isOpen})`);
      assert.deepEqual(page.troubles, []);
    }
  });

  test("that the names did not come is not said over the wall once the field is left", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }), {
      replace: (path) => (path === "js/search.js" ? { status: 503 } : null),
    });
    await type(page, "amber");
    await page.until("the words", `${STATUS} === "Search isn't available right now."`);
    await page.evaluate("document.querySelector('#find').blur()");
    await page.until("no words", `${STATUS} === ''`);
  });

  test("an answer that comes after Escape, or when the field is left, is not shown", async () => {
    const ends = {
      escape: (page) => page.key("Escape"),
      blur: (page) => page.evaluate("document.querySelector('#find').blur()"),
    };
    for (const [name, end] of Object.entries(ends)) {
      const { page } = await visits.visit(sampleSite({ bundles: 40 }));
      await page.evaluate(HOLD_SEARCH);
      await type(page, "amber");
      await page.until("a request", "window.asked > 0");
      await end(page);
      await page.evaluate("window.release()");
      await page.until("the answer", "window.answered > 1");
      await page.evaluate("new Promise((done) => setTimeout(() => done(true), 300))");
      assert.equal(await page.evaluate("document.querySelector('#found').hidden"), true, name);
      assert.equal(await page.evaluate(STATUS), "", name);
      assert.equal(await page.evaluate("location.hash"), "#seed=7");
    }
  });

  test("Enter that ends a composition of an input method chooses no answer", async () => {
    const { page } = await visits.visit(sampleSite({ bundles: 20 }));
    await type(page, "amber");
    await page.until("names", `${OPTIONS}.length > 1`);
    const press = (more) => page.evaluate(`document.querySelector('#find').dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, ...${JSON.stringify(more)} }))`);
    for (const more of [{ isComposing: true }, { keyCode: 229 }]) {
      await press(more);
      assert.equal(await page.evaluate("document.querySelector('#find').value"), "amber");
      assert.equal(await page.evaluate("location.hash"), "#seed=7");
    }
    await press({ keyCode: 13 });
    await page.until("the answer", "location.hash.includes('&site=')");
  });
});
