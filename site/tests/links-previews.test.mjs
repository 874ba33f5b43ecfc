// Link pages (`t/<bundle>.html`) in a real browser. link-page.html is the bundler's, where a test
// compares it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import vm from "node:vm";
import { hostnameOf } from "../js/bundles.js";
import { findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { FILLED, visitsOfSuite } from "./visit.mjs";

const program = findChromium();
const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const sample = sampleSite({ bundles: 20 });
const hostOf = (bundle, slot) => new URL(sample.bundle(bundle).entries[slot].url).hostname;
const BUNDLE = 7;
const PAGE = read("link-page.html")
  .replace("js/link.0123456789abcdef.js", "js/link.js")
  .replace('data-site="wikipedia.org"', `data-site="${hostOf(BUNDLE, 3)}"`);
const withLinks = {
  sample,
  replace: (path) => {
    if (path === `t/${BUNDLE}.html`) return { status: 200, body: PAGE };
    return path.startsWith("t/") ? { status: 404, body: read("../404.html") } : null;
  },
};
const found = (host) => `location.pathname === '/' &&
  document.querySelector('.row .tab.found')?.href.includes('//${host}/')`;
const PLACE = "location.pathname + location.hash.replace(/seed=\\d+/, 'seed')";

describe("link pages", {
  skip: program ? false : "no chromium is installed", concurrency: false,
}, () => {
  const visits = visitsOfSuite(program);
  const follow = async (link) => {
    const { page, server } = await visits.visit(sample, {
      path: "about.html", until: "document.readyState === 'complete'",
      replace: withLinks.replace,
    });
    await page.evaluate(`location.assign(${JSON.stringify(`/${link}`)})`);
    return { page, server };
  };

  test("a link opens the wall at its tab, and Back leads to where the visitor was", async () => {
    const host = hostOf(12, 40);
    const { page, server } = await follow(`t/${BUNDLE}.html#${host}`);
    await page.until("the tab", found(host));
    await page.until("the wall", FILLED);
    assert.equal(await page.evaluate(PLACE), `/#seed&site=${host}`);
    assert.ok(server.asked.includes(`/t/${BUNDLE}.html`));
    assert.deepEqual(page.troubles, []);
    await page.back();
    await page.until("the page before", "location.pathname === '/about.html'");
  });

  test("a link without a site opens the wall at its bundle", async () => {
    const { page } = await follow(`t/${BUNDLE}.html`);
    await page.until("the tab", found(hostOf(BUNDLE, 3)));
    await page.until("the wall", FILLED);
    assert.deepEqual(page.troubles, []);
  });

  test("a link into a bundle that a later scan lacks still finds its site", async () => {
    const host = hostOf(2, 9);
    const { page } = await follow(`t/999999.html#${host}`);
    await page.until("the tab", found(host));
    await page.back();
    await page.until("the page before", "location.pathname === '/about.html'");
  });

  test("a page that does not exist stays, whatever its fragment", async () => {
    for (const path of ["t/999999.html", "t/999999.html#a/b", `other.html#${hostOf(2, 9)}`]) {
      const { page } = await visits.visit(sample, {
        path, until: "document.querySelector('h1')?.textContent === 'This tab is closed'",
        replace: (inside) => inside === "other.html"
          ? { status: 404, body: read("../404.html") } : withLinks.replace(inside),
      });
      await page.until("the whole page", "document.readyState === 'complete'");
      assert.equal(await page.evaluate("location.pathname + location.hash"), `/${path}`);
    }
  });

  test("without scripts a link page says what it leads to", async () => {
    const { page } = await visits.visit(sample, {
      path: `t/${BUNDLE}.html`, until: "document.querySelector('a')", replace: withLinks.replace,
      prepare: (page) => page.call("Emulation.setScriptExecutionDisabled", { value: true }),
    });
    const text = await page.evaluate("document.body.innerText");
    assert.match(text, /^wikipedia\.org, www\.example\.com and 117 more sites\n/);
    assert.match(text, /\nOpen these tabs on EveryTab$/);
  });
});

test("a fragment is a hostname by the same rule as on the wall, and leads nowhere else", () => {
  const typed = [
    "example.com", "EXAMPLE.com", "www.example.com", "b%C3%BCcher.example", "bücher.example", "",
    "a/b", "//evil.example", "x@evil.example", "https://evil.example/", "javascript:alert(1)",
    "a b", "%", "a%00b", "_odd-.example", "1.2.3.4", "example.com.", "x".repeat(254), "a#b", "a?b",
    "a\\b", "a&open", "[::1]",
  ];
  const ORIGIN = "https://tabs.example";
  const script = new vm.Script(read("../js/link.js"));
  const target = (pathname, hash, site) => {
    let asked = null;
    const location = { origin: ORIGIN, pathname, hash, replace: (to) => (asked = to) };
    const dataset = site === undefined ? {} : { site };
    script.runInNewContext({ location, document: { documentElement: { dataset } }, URL });
    return asked;
  };
  for (const text of typed) {
    let host = "";
    try {
      host = hostnameOf(decodeURIComponent(text));
    } catch {
    }
    const led = (site) => `${ORIGIN}/x/${site === "" ? "" : `#site=${site}`}`;
    const orNamed = host || (text === "" ? "a.org" : "");
    assert.equal(target("/x/t/5.html", `#${text}`, "a.org"), led(orNamed), text);
    assert.equal(target("/x/t/5.html", `#${text}`, ""), led(host), text);
    assert.equal(target("/x/t/5.html", `#${text}`), host ? led(host) : null, text);
    assert.equal(target("/x/other.html", `#${text}`), null, text);
  }
  for (const path of ["//evil.example/t/7.html", "///evil.example/t/7.html", "//t/7.html"]) {
    const { host } = new URL(target(path, "#a.org"));
    assert.equal(host, "tabs.example", path);
  }
});
