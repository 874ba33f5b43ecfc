// Takes a picture of a page: node screenshot.mjs URL OUT.png [WIDTH HEIGHT] [--dark] [--phone]
// [--scale N] [--scroll PX] [--open] [--hover X,Y]. Without a URL, "sample" shows a made-up site.

import { parseArgs } from "node:util";
import { Chromium, findChromium } from "./chromium.mjs";
import { sampleSite } from "./sample.mjs";
import { serveSample } from "./server.mjs";

const SETTLE_MS = 700;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dark: { type: "boolean" },
    phone: { type: "boolean" },
    open: { type: "boolean" },
    scale: { type: "string", default: "1" },
    scroll: { type: "string", default: "0" },
    hover: { type: "string" },
  },
});
const [url, out, width = "1440", height = "900"] = positionals;
if (!url || !out) {
  console.error("usage: node screenshot.mjs URL|sample OUT.png [WIDTH HEIGHT] [--dark] [--phone]");
  process.exit(2);
}
const program = findChromium();
if (!program) {
  console.error("no chromium found; install it or name it in EVERYTAB_CHROMIUM");
  process.exit(1);
}
const server = url === "sample" ? await serveSample(sampleSite({ bundles: 200 })) : null;
const browser = new Chromium(program);
const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
try {
  const page = await browser.page({
    width: Number(width),
    height: Number(height),
    phone: Boolean(values.phone),
    scale: Number(values.scale),
    media: { "prefers-color-scheme": values.dark ? "dark" : "light" },
  });
  await page.open(server ? `${server.url}#seed=7` : url);
  await page.until("the page", "document.readyState === 'complete'");
  await settle();
  await page.evaluate(`window.scrollTo(0, ${Number(values.scroll)})`);
  await settle();
  if (values.open) {
    // The page of a made-up site: the names of strangers are not resolved here.
    page.on("Fetch.requestPaused", ({ requestId }) => {
      const body = "<!doctype html><title>x</title><h1>A page in a frame</h1><p>It has come.</p>";
      void page.call("Fetch.fulfillRequest", {
        requestId,
        responseCode: 200,
        responseHeaders: [{ name: "content-type", value: "text/html" }],
        body: Buffer.from(body).toString("base64"),
      });
    });
    if (server) await page.call("Fetch.enable", { patterns: [{ urlPattern: "https://*" }] });
    await page.evaluate("document.querySelector('.row .tab:not(.outside)').click()");
    await settle();
  }
  if (values.hover) {
    const [x, y] = values.hover.split(",").map(Number);
    await page.pointAt(x, y);
    await settle();
  }
  await page.screenshot(out);
  for (const trouble of page.troubles) console.error(`page says: ${trouble}`);
} finally {
  await browser.close();
  await server?.close();
}
