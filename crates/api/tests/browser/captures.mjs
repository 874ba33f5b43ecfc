// Opens captures in real browsers: captures.mjs SERVICE KEY NAMES. A proxy on loopback adds the
// key, which a browser would not send, and on some paths takes away a header, as a careless
// operator's would. Invariants: a page of the test is the proxy's own, so it shares the origin with
// captures, which is the worst case; whatever a capture asks of the proxy is counted.

import assert from "node:assert/strict";
import http from "node:http";
import { Chromium, findChromium } from "../../../../site/tests/chromium.mjs";
import { findFirefox, openFirefox } from "../../../../site/tests/firefox.mjs";

const [service, key, names] = process.argv.slice(2);
/** What is taken away: nothing, or the header that has a browser save and not show. */
const PROXIES = ["/whole", "/shown"];
/** Long enough for a page to run and ask. */
const SETTLE_MS = 120;
const FRAMES = `<!doctype html><title>frames</title><body><script>
  window.stolen = [];
  window.addEventListener("message", ({ data }) => window.stolen.push(data));
</script>`;

const paths = names.split(",").flatMap((name) =>
  [["html", "warc"], ["media", "media"]].flatMap(([path, subset]) =>
    ["html", "raw", "text", "warc"].map((form) =>
      `/v1/crawled/${path}?url=https://a.test/${subset}/${name}&as=${form}`)));

const asked = [];
const downloads = { whole: 0 };

function forward(path, isShown, response) {
  const options = { headers: { authorization: `Bearer ${key}` } };
  http.get(`${service}${path}`, options, (answer) => {
    const headers = { ...answer.headers };
    if (isShown) {
      delete headers["content-disposition"];
      // The frame itself is refused by this one; it is taken away to test the sandbox alone.
      delete headers["x-frame-options"];
    } else downloads.whole += /^attachment/.test(headers["content-disposition"] ?? "") ? 1 : 0;
    response.writeHead(answer.statusCode, headers);
    answer.pipe(response);
  }).on("error", () => response.destroy());
}

const server = http.createServer((request, response) => {
  const [, prefix, path] = /^(\/whole|\/shown)(\/v1\/.*)$/.exec(request.url) ?? [];
  if (paths.includes(path)) return forward(path, prefix === "/shown", response);
  if (request.url === "/frames") {
    return response.writeHead(200, { "content-type": "text/html" }).end(FRAMES);
  }
  if (request.url !== "/favicon.ico") asked.push(`${request.method} ${request.url}`);
  return response.writeHead(204).end();
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const own = `http://127.0.0.1:${server.address().port}`;

const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

/** In frames of the proxy's own page: with and without the header, in frame, object and image. */
async function inFrames(page, open) {
  await open(`${own}/frames`);
  await page.until("the page with frames", "document.title === 'frames'");
  for (let at = 0; at < paths.length; at += 16) {
    const some = JSON.stringify(paths.slice(at, at + 16));
    await page.evaluate(`(() => {
      for (const path of ${some}) for (const proxy of ${JSON.stringify(PROXIES)}) {
        const frame = document.createElement("iframe");
        frame.src = proxy + path;
        document.body.append(frame);
        for (const name of ["object", "embed", "img"]) {
          const element = document.createElement(name);
          element[name === "object" ? "data" : "src"] = proxy + path;
          if (proxy === "/shown") document.body.append(element);
        }
      }
    })()`);
    await settle();
    await settle();
    await page.evaluate("document.querySelectorAll('iframe,object,embed,img')" +
      ".forEach((element) => element.remove())");
  }
  assert.deepEqual(await page.evaluate("JSON.stringify(window.stolen)"), "[]");
  assert.equal(await page.evaluate(
    "navigator.serviceWorker?.getRegistrations().then((all) => all.length) ?? 0"), 0);
}

/** In the window itself. */
async function inWindow(open, proxies) {
  for (const proxy of proxies) {
    for (const path of paths) {
      await open(proxy + path);
      await settle();
    }
  }
}

async function chromium() {
  const program = findChromium();
  if (!program) return console.log("skipped: captures in Chromium: it is not installed");
  const browser = new Chromium(program);
  try {
    const page = await browser.page();
    await inFrames(page, (url) => page.open(url));
    // A navigation that becomes a download is aborted, and the window stays.
    await inWindow((path) => page.open(own + path).catch(() => {}), PROXIES);
  } finally {
    await browser.close();
  }
  return console.log(`chromium: ${paths.length} answers, in frames and in the window`);
}

async function firefox() {
  const program = findFirefox();
  if (!program) return console.log("skipped: captures in Firefox: it is not installed");
  const browser = await openFirefox(program);
  try {
    const open = (url) => browser.call("browsingContext.navigate",
      { context: browser.context, url, wait: "none" }).catch(() => {});
    await inFrames(browser, open);
    await inWindow((path) => open(own + path), PROXIES);
  } finally {
    await browser.close();
  }
  return console.log(`firefox: ${paths.length} answers, in frames and in the window`);
}

if (process.env.CI === "true") {
  assert.ok(findChromium() && findFirefox(), "a browser is missing");
}
try {
  await chromium();
  await firefox();
  assert.deepEqual(asked, [], "captures asked the origin that served them");
  assert.ok(downloads.whole > 0 || !(findChromium() || findFirefox()));
} finally {
  server.closeAllConnections();
  server.close();
}
