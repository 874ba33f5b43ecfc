// Opens a page of tabs in Chromium and counts its tabs: node page.mjs ADDRESS PICTURE. Fails if the
// page shows few tabs, or a tab that is in no bundle.

import { Chromium, findChromium } from "../../site/tests/chromium.mjs";

const [address, picture] = process.argv.slice(2);
const manifest = await (await fetch(new URL("manifest.json", address))).json();
const hosts = new Set();
for (let bundle = 0; bundle < manifest.bundles; bundle += 1) {
  const file = new URL(`${manifest.prefix}tabs/${bundle}.json`, address);
  const { entries } = await (await fetch(file)).json();
  for (const { url } of entries) hosts.add(new URL(url).host);
}
const program = findChromium();
if (!program) {
  console.error("judges: no chromium");
  process.exit(1);
}
const chromium = new Chromium(program);
try {
  const page = await chromium.page({ width: 1440, height: 900 });
  await page.open(address);
  await page.until("tabs", "document.querySelectorAll('.row .tab[href]').length > 20");
  const shown = JSON.parse(await page.evaluate(`JSON.stringify(
    [...document.querySelectorAll('.row .tab[href]')].map((tab) => new URL(tab.href).host))`));
  await page.screenshot(picture);
  const strangers = shown.filter((host) => !hosts.has(host));
  if (strangers.length > 0) throw new Error(`tabs that are in no bundle: ${strangers}`);
  const seen = new Set(shown).size;
  console.log(`judges: Chromium shows tabs of ${seen} of ${hosts.size} hosts (${picture})`);
} finally {
  await chromium.close();
}
