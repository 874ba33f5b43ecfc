// Takes the README's picture of the wall: node wall-picture.mjs URL FILE.png. URL is the page for
// the made-up internet (`everytab-worker local --sample`, then `serve`). Fonts for all its scripts
// should be installed.

import { Chromium, findChromium } from "./chromium.mjs";

/** The README shows this picture at half its width. */
const VIEW = { width: 1200, height: 600, scale: 1 };
const SETTLE_MS = 1500;
const WALL = "document.querySelectorAll('.row .tab[href]').length > 10";

const [url, file] = process.argv.slice(2);
const program = findChromium();
if (!file || !program) {
  console.error(file ? "no chromium found; install it or name it in EVERYTAB_CHROMIUM"
    : "usage: node wall-picture.mjs URL FILE.png");
  process.exit(2);
}
const browser = new Chromium(program, ["--hide-scrollbars"]);
try {
  const page = await browser.page({ ...VIEW, media: { "prefers-color-scheme": "light" } });
  await page.open(`${url}#seed=7`);
  await page.until("the wall", WALL);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  await page.screenshot(file);
} finally {
  await browser.close();
}
