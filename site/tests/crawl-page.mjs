// Tests the HTTP service's page. `worker/tests/scan/crawl_page.rs` runs crawl-page.mjs SETTINGS
// (JSON) after it has started the service, a worker and a small internet. A line on stdout that
// starts with "please " requests an action from that test, and a line on stdin confirms it. A
// missing browser is a failure if CI is true.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import http from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Chromium, findChromium } from "./chromium.mjs";
import { findFirefox, openFirefox } from "./firefox.mjs";
import { until } from "./patience.mjs";

const { service, seed, visitors } = JSON.parse(process.argv[2]);
const PAGE = fileURLToPath(new URL("../crawl/index.html", import.meta.url));
const NODE = process.env.EVERYTAB_NODE ??
  fileURLToPath(new URL("../../target/node", import.meta.url));
const AXE = `${NODE}/node_modules/axe-core/axe.min.js`;
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const UNKNOWN_KEY = `et_${"a".repeat(12)}_${"a".repeat(52)}`;
const SHOTS = process.env.EVERYTAB_PAGE_SHOTS;
const LOOKS = [["light", 1280, 1000], ["dark", 390, 844],
  ...(SHOTS ? [["dark", 1280, 1000], ["light", 390, 844]] : [])];
const MOST_ROWS = 200;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let lastAsked = Promise.resolve();

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Only one request may be pending. */
function please(what) {
  lastAsked = lastAsked.then(() => {
    console.log(`please ${what}`);
    return lines.next();
  });
  return lastAsked;
}

/** A proxy in front of the service, which counts requests and can cut the service off. */
class Proxy {
  asked = [];
  #isCut = false;
  #sockets = new Set();
  #server = http.createServer((request, response) => this.#answer(request, response));

  async open() {
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    await new Promise((resolve) => { this.#server.listen(0, "127.0.0.1", resolve); });
    this.origin = `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  set isCut(isCut) {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#sockets) socket.destroy();
  }

  close() {
    this.isCut = true;
    this.#server.close();
  }

  #answer(request, response) {
    this.asked.push(request.url);
    if (this.#isCut) return request.socket.destroy();
    const options = { method: request.method, headers: request.headers };
    const forward = http.request(service + request.url, options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forward.on("error", () => response.destroy());
    response.on("close", () => forward.destroy());
    return request.pipe(forward);
  }
}

const text = (id) => `document.getElementById('${id}').textContent`;
const isShown = (id) => `(() => {
  const { width, height } = document.getElementById('${id}').getBoundingClientRect();
  return width > 0 && height > 0;
})()`;
const sum = (name) => `Number(document.querySelector('#sums .${name} dd')
  ?.textContent.replaceAll(',', ''))`;
const type = (id, value) => `(() => {
  const field = document.getElementById('${id}');
  field.focus();
  field.value = ${JSON.stringify(value)};
  field.dispatchEvent(new Event('input', { bubbles: true }));
})()`;
const press = (id) => `document.getElementById('${id}').click()`;

async function show(page, aKey) {
  await page.evaluate(type("key", aKey));
  await page.enter();
}

async function keys(page, look, { newKey }, { origin, asked }) {
  await page.open(`${origin}/`);
  await page.until("the form for a key", isShown("asking"));
  assert.equal(await page.evaluate("document.activeElement.id"), "key");
  await look("no-key");
  await show(page, "not a key");
  await page.until("that it is no key", `${text("notice")}.startsWith('This is no key')`);
  assert.ok(!asked.some((path) => path.startsWith("/v1/")), "no key, no request");
  await show(page, UNKNOWN_KEY);
  await page.until("an unknown key", `${text("notice")}.includes('does not know this key')`);
  await look("wrong-key");
  assert.equal(await page.evaluate("sessionStorage.length"), 0);
  await show(page, newKey);
  await page.until("a key without crawls", isShown("no-crawls"));
  await page.until("the scan", `${text("scans")}.includes('28,803 of 90,003')`);
  assert.equal(await page.evaluate("sessionStorage.length + localStorage.length"), 1);
  assert.equal(await page.evaluate("document.cookie"), "");
  await look("empty");
  await page.evaluate(press("forget"));
  await page.until("the form again", isShown("asking"));
  assert.equal(await page.evaluate("sessionStorage.length"), 0);
}

async function ownCrawl(page, look, { key }) {
  await show(page, key);
  await page.until("the key's crawls", "document.querySelectorAll('#crawls a').length > 1");
  const before = await page.evaluate(text("crawl-title"));
  await page.evaluate(type("urls", `${seed}\nnot a url`));
  await page.evaluate(type("delay", "0.25"));
  await page.enter();
  await page.until("what was refused", `${text("start-said")}.includes('Not URL 2')`);
  await page.until("the new crawl", `${text("crawl-title")} !== '${before}'`);
  await page.until("that it runs", `${text("crawl-state")} === 'running'`);
  await page.evaluate(press("pause"));
  await page.until("a pause", `${text("crawl-state")} === 'paused'`);
  await page.until("the focus", "document.activeElement.id === 'resume'");
  await page.until("why nothing is fetched", `${text("crawl-note")}.startsWith('It is paused')`);
  await page.evaluate(press("resume"));
  await page.until("that it goes on", `${text("crawl-state")} === 'running'`);
  await page.evaluate("window.confirm = () => false");
  await page.evaluate(press("cancel"));
  await page.evaluate("window.confirm = (question) => /What it captured stays/.test(question)");
  assert.equal(await page.evaluate(text("crawl-state")), "running");
  await page.evaluate(press("cancel"));
  await page.until("the end", `${text("crawl-state")} === 'ended'`);
  await page.until("why it ended", `${text("crawl-note")}.includes('by hand')`);
  assert.ok(!await page.evaluate(isShown("waiting")));
  await look("ended");
}

async function onePage(page) {
  await page.evaluate(type("one-url", seed));
  await page.enter();
  await page.until("the answer", `/It is captured/.test(${text("one-said")})`);
  await page.evaluate(type("one-url", "ftp://example.com/"));
  await page.enter();
  await page.until("a refusal", "document.getElementById('one-said').className === 'bad'");
}

async function strangers(page, look, { strange, strangeName }) {
  await page.evaluate(`location.hash = '${strange}'`);
  await page.until("the strange crawl", `${text("crawl-title")} === '${strangeName}'`);
  await page.until("its feed", "document.getElementById('feed').rows.length === 100");
  const made = "document.querySelectorAll('#feed :is(a, img, b, script)').length";
  assert.equal(await page.evaluate(made), 0);
  assert.equal(await page.evaluate("typeof window.stolen"), "undefined");
  assert.ok(await page.evaluate(`${text("feed")}.includes('<img src=x onerror=')`));
  await look("strange");
  await page.evaluate(`(() => {
    let last = performance.now(), added = 0;
    window.longest = 0;
    window.most = 0;
    const count = (changes) => {
      for (const { addedNodes } of changes) {
        added += [...addedNodes].filter((node) => node.nodeName === "TR").length;
      }
    };
    const feed = document.getElementById("feed");
    new MutationObserver(count).observe(feed, { childList: true, subtree: true });
    const frame = (now) => {
      window.longest = Math.max(window.longest, now - last);
      window.most = Math.max(window.most, added);
      last = now;
      added = 0;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  })()`);
  await please(`record a thousand for ${strange}`);
  await page.until("the last of a thousand", `${text("feed")}.includes('number 999 ')`);
  assert.equal(await page.evaluate("document.getElementById('feed').rows.length"), MOST_ROWS);
  const first = await page.evaluate("document.getElementById('feed').rows[0].textContent");
  assert.ok(first.includes("number 999 "), first);
  const longest = await page.evaluate("window.longest");
  console.log(`a thousand rows: the longest frame took ${Math.round(longest)} ms`);
  // The duration depends on this host's load, but the amount of work does not.
  const most = await page.evaluate("window.most");
  assert.ok(most > 0 && most <= MOST_ROWS, `${most} rows in a frame`);
}

async function away(page, { strange, strangeName }, proxy) {
  proxy.isCut = true;
  await page.until("that it is away", `${text("notice")}.startsWith('The service is away')`);
  const [during, since] = [proxy.asked.length, performance.now()];
  await sleep(1_500);
  // Allow the requests in flight, and the same number again after each pause of a few seconds,
  // because this program may have had to wait.
  const most = 4 * (1 + Math.floor((performance.now() - since) / 2_500));
  const asked = proxy.asked.slice(during);
  assert.ok(asked.length <= most, `it is asked again and again: ${asked}`);
  proxy.isCut = false;
  await page.until("that it is back", `${text("notice")} === 'Live'`);
  await page.evaluate(press("live"));
  await page.until("no updates", `${text("notice")} === 'Updates are off'`);
  await until("the end of its requests", async () => {
    const before = proxy.asked.length;
    await sleep(3_500);
    return proxy.asked.length === before;
  });
  await page.open(`${proxy.origin}/?#${strange}`);
  await page.until("the same crawl", `${text("crawl-title")} === '${strangeName}'`);
  await page.evaluate(press("forget"));
}

async function throttled(page, look, { slowKey }) {
  await page.evaluate(`(() => {
    window.sent = [];
    const { fetch } = window;
    window.fetch = async (...all) => {
      const one = { at: performance.now() };
      window.sent.push(one);
      const answer = await fetch(...all);
      if (answer.status === 429) {
        Object.assign(one, { toldAt: performance.now(), s: answer.headers.get("retry-after") });
      }
      return answer;
    };
  })()`);
  await show(page, slowKey);
  await page.until("that it asks too fast", `${text("notice")}.includes('requests too fast')`);
  await look("throttled");
  await page.until("the end of the pause", `!${text("notice")}.includes('too fast')`);
  const early = await page.evaluate(`(() => {
    const { toldAt, s } = window.sent.find((one) => one.toldAt);
    return window.sent.filter(({ at }) => at > toldAt && at < toldAt + s * 1_000 - 50);
  })()`);
  assert.deepEqual(early, []);
  await page.evaluate(press("forget"));
}

async function keyboard(page, { key }) {
  await show(page, key);
  await page.until("the page", isShown("shown"));
  await page.evaluate("document.getElementById('live').focus()");
  const reached = [];
  for (let step = 0; step < 40; step += 1) {
    const focused = "document.activeElement.id || document.activeElement.tagName";
    reached.push(await page.evaluate(focused));
    await page.tab();
  }
  const expected = ["live", "forget", "A", "one-url", "urls", "scope", "depth", "limit", "delay"];
  const order = expected.map((id) => reached.indexOf(id));
  assert.ok(order.every((at, number) => at >= 0 && (number === 0 || at > order[number - 1])),
    reached.join());
}

async function longCrawl(page, look, { long }) {
  await page.evaluate(`location.hash = '${long}'`);
  await page.until("hosts that wait", "document.getElementById('hosts').rows.length > 2");
  await page.until("pages", `${sum("captured")} > 0 && ${sum("known")} > ${sum("captured")}`);
  await page.until("the feed", "document.getElementById('feed').rows.length > 5");
  await page.until("the curve", "document.getElementById('chart-rows').rows.length > 1");
  await page.until("what is allowed", `/allows: [0-9]/.test(${text("chart-allowed")})`);
  await page.until("pages a second", `/Fetched: [0-9]/.test(${text("chart-pages")})`);
  await page.until("why", `/robots.txt asks|429|delay/.test(${text("hosts")})`);
  await page.until("reasons", "document.getElementById('reasons').rows.length > 0");
  await look("crawl");
  const parts = ["captured", "failed", "refused", "left", "pending"].map(sum).join(" + ");
  assert.ok(await page.evaluate(`${parts} === ${sum("known")}`));
}

async function lookWith(page, name) {
  const axe = existsSync(AXE) ? readFileSync(AXE, "utf8") : null;
  if (axe) await page.evaluate(axe);
  for (const [scheme, width, height] of LOOKS) {
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await page.call("Emulation.setEmulatedMedia", { features });
    await page.resize(width, height, width < 500);
    const wide = "document.documentElement.scrollWidth <= innerWidth";
    assert.ok(await page.evaluate(wide), `${name} is wider than ${width} pixels`);
    if (SHOTS) {
      mkdirSync(SHOTS, { recursive: true });
      await page.screenshot(`${SHOTS}/${name}-${scheme}-${width}.png`);
    }
    if (!axe) continue;
    const found = JSON.parse(await page.evaluate(`axe.run(document,
      { runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) => JSON.stringify(
        violations.map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200),
          nodes[0].failureSummary.slice(0, 300)])))`));
    assert.deepEqual(found, [], `${name}, ${scheme}, ${width}`);
  }
  await page.resize(1280, 1000);
}

async function everything(page, look, visitor, proxy) {
  await keys(page, look, visitor, proxy);
  await ownCrawl(page, look, visitor);
  await onePage(page);
  await strangers(page, look, visitor);
  await away(page, visitor, proxy);
  await throttled(page, look, visitor);
  await keyboard(page, visitor);
  await longCrawl(page, look, visitor);
}

async function inChromium(program, visitor, proxy) {
  const browser = new Chromium(program);
  try {
    const page = await browser.page({ width: 1280, height: 1000 });
    const others = [];
    page.on("Network.requestWillBeSent", ({ request: { url } }) => {
      if (!url.startsWith(`${proxy.origin}/`) && !url.startsWith("data:")) others.push(url);
    });
    page.enter = () => page.key("Enter");
    page.tab = () => page.key("Tab");
    await everything(page, (name) => lookWith(page, name), visitor, proxy);
    assert.deepEqual(others, []);
    // A browser logs each error response.
    const expected = /Failed to load resource/;
    assert.deepEqual(page.troubles.filter((trouble) => !expected.test(trouble)), []);
  } finally {
    await browser.close();
  }
}

async function inFirefox(program, visitor, proxy) {
  const browser = await openFirefox(program, { width: 1280, height: 1000 });
  try {
    browser.enter = () => browser.key("\uE007");
    browser.tab = () => browser.key("\uE004");
    await everything(browser, () => {}, visitor, proxy);
    assert.deepEqual(browser.troubles, []);
  } finally {
    await browser.close();
  }
}

async function isValid() {
  const validator = `${NODE}/node_modules/html-validate/dist/esm/index.js`;
  if (!existsSync(validator)) return console.log(`skipped: valid HTML: no ${validator}`);
  const { HtmlValidate } = await import(validator);
  const { results } = await new HtmlValidate({
    extends: ["html-validate:recommended"],
    // Scrollable areas are regions, so that the keyboard reaches them; sections are the page's
    // cards. The browser should not store a key.
    rules: {
      "prefer-native-element": ["error", { exclude: ["region"] }],
      "autocomplete-password": "off",
    },
  }).validateString(readFileSync(PAGE, "utf8"), "index.html");
  return assert.deepEqual(results.flatMap(({ messages }) => messages)
    .map(({ line, ruleId, message }) => `${line} ${ruleId}: ${message}`), []);
}

const browsers = [["Chromium", findChromium(), inChromium], ["Firefox", findFirefox(), inFirefox]];
if (process.env.CI === "true") {
  assert.ok(browsers.every(([, program]) => program), "a browser is missing");
  assert.ok(existsSync(AXE), "axe is missing");
}
async function inBrowser([name, program, run], visitor) {
  if (!program) return console.log(`skipped: the page in ${name}: it is not installed`);
  const began = Date.now();
  const proxy = await new Proxy().open();
  try {
    await run(program, visitor, proxy);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`, { cause: error });
  } finally {
    proxy.close();
  }
  return console.log(`${name}: ${Date.now() - began} ms`);
}

await isValid();
const ends = await Promise.allSettled(browsers.map((one, at) => inBrowser(one, visitors[at])));
process.stdin.destroy();
for (const { reason } of ends) if (reason) console.error(reason);
process.exitCode = ends.some(({ reason }) => reason) ? 1 : 0;
