// This module shows the card of one site, with its number, its icon and its neighbours. A
// neighbour's card replaces this one in the same dialog.

import { fetchFile } from "./bundles.js";
import { button, textElement } from "./elements.js";
import { loadedFirstTab, loadFirstTab } from "./first-tab.js";
import { shownHost } from "./host-name.js";
import { withoutWww } from "./search-keys.js";
import { siteAddress } from "./share-address.js";
import { ShareDialog } from "./share-dialog.js";
import { date, SITE_CARD } from "./strings.js";
import { neighboursOf, tabNumber } from "./tab-number.js";

/** An icon in a tab has 16 CSS pixels, and this one is 16 times as large. */
const ICON_PX = 256;
const MAX_NEIGHBOURS = 8;
/** At most four fit next to the site's tab. */
const MAX_DRAWN = 4;

let dialog = null;
let shown = null;
/** Publishing dates by the scan's prefix, as promises from `publishedOn`. */
const published = new Map();

/**
 * Shows the card of `tabs[index]`. When it closes, `returnTo` gets the focus if the element that
 * had it before is gone.
 */
export function showSiteCard(scene) {
  const { manifest, bundle, tabs, index, returnTo } = scene;
  const tab = tabs[index];
  dialog ??= new ShareDialog("site-card");
  shown = scene;
  const name = shownHost(withoutWww(tab.host));
  const place = { ...scene, count: tabs.length };
  const number = tabNumber(manifest, place, loadedFirstTab(place));
  const words = document.createElement("div");
  words.className = "card-words";
  const title = textElement("p", tab.title);
  title.className = "card-quote";
  title.dir = "auto";
  title.hidden = !hasTitle(tab);
  const source = textElement("p", SITE_CARD.crawl(manifest.crawl));
  source.className = "card-source";
  source.hidden = manifest.crawl === "";
  void addDate(source, manifest);
  const link = textElement("a", SITE_CARD.wall);
  link.href = `./#site=${tab.host}`;
  link.addEventListener("click", () => dialog.close());
  words.append(dialog.heading, title, source, link);
  const nodes = [portraitOf(tab.icon, name), words, neighbours(scene)];
  showNumber(scene, name, number);
  dialog.show(nodes.filter(Boolean), returnTo);
  if (number && bundle > 0) void addExactNumber(scene, name, place, number);
}

async function addExactNumber(scene, name, place, before) {
  const number = tabNumber(scene.manifest, place, await loadFirstTab(place));
  const isSame = number.number === before.number && number.isExact === before.isExact;
  if (scene !== shown || isSame) return;
  showNumber(scene, name, number);
  dialog.announce(dialog.what.text);
}

/** Updates the heading and what is shared and saved, because all of them contain the number. */
function showNumber(scene, name, number) {
  const { manifest, bundle, tabs, index } = scene;
  const { host } = tabs[index];
  dialog.heading.replaceChildren(...headingOf(name, number, manifest.hosts));
  dialog.what = {
    title: name,
    text: number ? SITE_CARD.sentence(name, number, manifest.hosts) : name,
    url: siteAddress(bundle, host),
  };
  dialog.picture = { name: fileName(host), content: pictureOf(scene, name, number) };
}

function fileName(host) {
  return `everytab-${host.slice(0, 100).replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "")}.png`;
}

function pictureOf({ manifest, tabs, index }, name, number) {
  const { icon, title } = tabs[index];
  const near = neighboursOf(tabs, index, MAX_DRAWN).map((one) => ({ ...one, isActive: false }));
  const strip = [...near, { tab: tabs[index], index, isActive: true }]
    .sort((one, other) => one.index - other.index);
  const lines = [
    { text: name, sizes: [56, 48, 42, 36, 32], maxLines: 3, isBold: true, isHost: true },
  ];
  if (number) {
    const [before, digits, after] = SITE_CARD.parts(number, manifest.hosts);
    lines.push(
      { text: before, sizes: [32], isSoft: true },
      { text: digits, sizes: [104, 88, 72], isBold: true },
      { text: after, sizes: [32], isSoft: true },
    );
  }
  if (hasTitle(tabs[index])) {
    lines.push({ text: title, sizes: [28, 26], maxLines: 2, gapPx: 20, isQuote: true });
  }
  return {
    tabs: strip.map(({ tab, isActive }) =>
      ({ icon: tab.icon, name: tab.title, isActive, isHost: !hasTitle(tab) })),
    icons: icon ? [icon] : [],
    letter: firstLetter(name),
    lines,
  };
}

/** A tab without a title shows its hostname, which is already in the heading. */
const hasTitle = ({ title, host }) => title !== host;

function headingOf(name, number, hosts) {
  const host = textElement("bdi", name);
  if (!number) return [host];
  const [before, digits, after] = SITE_CARD.parts(number, hosts);
  return [host, ` ${before} `, textElement("b", digits), ` ${after}`];
}

function portraitOf(icon, name) {
  const box = document.createElement("div");
  box.className = "card-portrait";
  if (icon === "") {
    const letter = textElement("span", firstLetter(name));
    letter.ariaHidden = "true";
    box.append(letter);
    return box;
  }
  const image = new Image();
  image.alt = SITE_CARD.icon(name);
  image.addEventListener("load", () => {
    // An integer factor keeps the pixels square.
    const longest = Math.max(image.naturalWidth, image.naturalHeight);
    const times = Math.max(1, Math.floor(ICON_PX / longest));
    image.width = image.naturalWidth * times;
    image.height = image.naturalHeight * times;
  });
  image.src = icon;
  box.append(image);
  return box;
}

function firstLetter(name) {
  return ([...name.replace(/^\[/, "")][0] ?? "").toUpperCase();
}

function neighbours(scene) {
  const near = neighboursOf(scene.tabs, scene.index, MAX_NEIGHBOURS);
  if (near.length === 0) return null;
  const section = document.createElement("section");
  section.className = "card-neighbours";
  const list = document.createElement("ul");
  list.append(...near.map(({ tab, index }) => {
    const item = document.createElement("li");
    const entry = button("", () => showSiteCard({ ...scene, index }));
    const image = document.createElement("img");
    image.className = "icon";
    image.alt = "";
    image.width = 16;
    image.height = 16;
    if (tab.icon) image.src = tab.icon;
    const name = textElement("bdi", shownHost(withoutWww(tab.host)));
    name.dir = "ltr";
    const box = document.createElement("span");
    box.append(name);
    entry.append(image, box);
    entry.title = tab.title;
    item.append(entry);
    return item;
  }));
  section.append(textElement("h3", SITE_CARD.neighbours), list);
  return section;
}

async function addDate(element, { prefix, scan, crawl }) {
  if (!published.has(prefix)) published.set(prefix, publishedOn(scan));
  const day = await published.get(prefix);
  if (day !== "" && crawl !== "") element.textContent = SITE_CARD.published(crawl, day);
}

/** Resolves to the scan's publishing date in words, or to "" if it is unknown. */
async function publishedOn(scan) {
  const { value } = await fetchFile("manifest.json");
  // A newer scan may have been published.
  return value?.scan === scan ? date(value.generated_at) : "";
}
