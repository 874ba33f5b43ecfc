// Opens captures in real browsers. Usage: captures.mjs SERVICE KEY NAMES.
//
// A proxy on loopback adds the key, which a browser would not send, and on some paths removes two
// headers, like a misconfigured proxy. The test's own page comes from this proxy, so that it has
// the captures' origin, which is the worst case.

import assert from "node:assert/strict";
import http from "node:http";
import { Chromium, findChromium } from "../../../../../site/tests/chromium.mjs";
import { findFirefox, openFirefox } from "../../../../../site/tests/firefox.mjs";

const [service, key, names] = process.argv.slice(2);
/**
 * Path prefixes: the whole response, and the response without `Content-Disposition`, so that the
 * browser shows it.
 */
const [WHOLE, SHOWN] = ["/whole", "/shown"];
const FORMS = ["html", "raw", "text", "warc"];
/** Time for a page to run scripts and send requests. */
const SETTLE_MS = 120;
const FRAMES = `<!doctype html><title>frames</title><body><script>
  window.stolen = [];
  window.addEventListener("message", ({ data }) => window.stolen.push(data));
</script>`;

const paths = names.split(",").flatMap((name) =>
  [["html", "warc"], ["media", "media"]].flatMap(([path, subset]) =>
    FORMS.map((form) =>
      `/v1/crawled/${path}?url=https://a.test/${subset}/${name}&as=${form}`)));

const asked = [];
const downloads = { whole: 0 };

function forward(path, isShown, response) {
  const options = { headers: { authorization: `Bearer ${key}` } };
  http.get(`${service}${path}`, options, (answer) => {
    const headers = { ...answer.headers };
    if (isShown) {
      delete headers["content-disposition"];
      // This header would forbid the frame. Remove it to test the sandbox alone.
      delete headers["x-frame-options"];
    } else downloads.whole += /^attachment/.test(headers["content-disposition"] ?? "") ? 1 : 0;
    response.writeHead(answer.statusCode, headers);
    answer.pipe(response);
  }).on("error", () => response.destroy());
}

const server = http.createServer((request, response) => {
  const [, prefix, path] = /^(\/whole|\/shown)(\/v1\/.*)$/.exec(request.url) ?? [];
  if (paths.includes(path)) return forward(path, prefix === SHOWN, response);
  if (request.url === "/frames") {
    return response.writeHead(200, { "content-type": "text/html" }).end(FRAMES);
  }
  if (request.url !== "/favicon.ico") asked.push(`${request.method} ${request.url}`);
  return response.writeHead(204).end();
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const own = `http://127.0.0.1:${server.address().port}`;

const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

/**
 * Opens captures in frames, objects and images of the proxy's own page, with and without
 * `Content-Disposition`.
 */
async function inFrames(page, open) {
  await open(`${own}/frames`);
  await page.until("the page with frames", "document.title === 'frames'");
  for (let at = 0; at < paths.length; at += 16) {
    const some = JSON.stringify(paths.slice(at, at + 16));
    await page.evaluate(`(() => {
      for (const path of ${some}) for (const proxy of ${JSON.stringify([WHOLE, SHOWN])}) {
        const frame = document.createElement("iframe");
        frame.src = proxy + path;
        document.body.append(frame);
        for (const name of ["object", "embed", "img"]) {
          const element = document.createElement(name);
          element[name === "object" ? "data" : "src"] = proxy + path;
          if (proxy === "${SHOWN}") document.body.append(element);
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

/**
 * Opens captures in the window itself: pages, all other files, and each form as the service sends
 * it.
 */
async function inWindow(open) {
  const pages = paths.filter((path) => path.includes("/html?") || path.endsWith("&as=raw"));
  const shown = pages.map((path) => SHOWN + path);
  const whole = paths.slice(0, FORMS.length).map((path) => WHOLE + path);
  for (const path of [...shown, ...whole]) {
    await open(own + path);
    await settle();
  }
  return `${paths.length} answers in frames, ${shown.length} in the window`;
}

async function chromium() {
  const program = findChromium();
  if (!program) return console.log("skipped: captures in Chromium: it is not installed");
  const browser = new Chromium(program);
  try {
    const page = await browser.page();
    await inFrames(page, (url) => page.open(url));
    // A navigation that becomes a download is aborted, and the window keeps its page.
    console.log(`chromium: ${await inWindow((url) => page.open(url).catch(() => {}))}`);
  } finally {
    await browser.close();
  }
}

async function firefox() {
  const program = findFirefox();
  if (!program) return console.log("skipped: captures in Firefox: it is not installed");
  const browser = await openFirefox(program);
  try {
    const open = (url) => browser.call("browsingContext.navigate",
      { context: browser.context, url, wait: "none" }).catch(() => {});
    await inFrames(browser, open);
    console.log(`firefox: ${await inWindow(open)}`);
  } finally {
    await browser.close();
  }
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
