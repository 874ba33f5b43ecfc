// Owns the visit: reads the manifest, joins stream, layout, wall and window, says what goes wrong.
// Invariants: all painting happens in animation frames, reads before writes; whatever fails, the
// page says so in words and offers to try again.
// Must not know: formats, geometry, how a tab is drawn.

import { bundlePath, fetchJson, readBundle, readManifest } from "./bundles.js";
import { firstTabOfRow, neighbour, rowLayout, rowOfTab, rowsOfTabs } from "./layout.js";
import { HoverCard, SiteWindow } from "./open.js";
import { seedOfHash, seedOfNumber, shuffledOrder } from "./random.js";
import { TabStream } from "./stream.js";
import { TabWall } from "./tabs.js";
import { poolSize, rowsInView, rowsWanted, scrollToShow } from "./viewport.js";

const byId = (id) => document.getElementById(id);
const container = byId("wall");
const coarse = matchMedia("(pointer: coarse)");

let manifest = null;
let stream = null;
let layout = null;
let frameAsked = false;
let headerPx = 0;
let view = { scrolledPx: 0, heightPx: 0 };
let seed = seedOfHash(location.hash) ?? seedOfNumber(Date.now());

const wall = new TabWall(container, (index) => stream?.at(index));
const card = new HoverCard(byId("card"));
const site = new SiteWindow(byId("site"), () => {
  const index = wall.opened;
  wall.markOpened(-1);
  if (!wall.focus(index)) container.focus({ preventScroll: true });
});

async function begin(fresh) {
  stream?.close();
  stream = null;
  say("Opening tabs…", "");
  const { value, trouble } = await fetchJson("manifest.json", fresh);
  manifest = trouble ? null : readManifest(value);
  if (manifest === null) {
    say(manifestWords(trouble), "Try again");
    return;
  }
  showCounts();
  deal();
}

/** Deals the bundles anew, in the order that the seed gives. */
function deal() {
  stream?.close();
  const guess = manifest.hosts / Math.max(1, manifest.bundles);
  stream = new TabStream({
    order: shuffledOrder(seed, manifest.bundles),
    fetchTabs,
    onChange: askFrame,
    tabsABundle: guess || undefined,
  });
  wall.cursor = 0;
  layout = null;
  window.scrollTo(0, 0);
  measure();
  askFrame();
}

async function fetchTabs(number, again) {
  const { value, trouble } = await fetchJson(bundlePath(manifest, number), again);
  if (trouble) return { trouble };
  const tabs = readBundle(value);
  return tabs === null ? { trouble: "broken" } : { tabs };
}

function measure() {
  const widthPx = container.clientWidth;
  headerPx = byId("header").offsetHeight;
  const next = rowLayout(widthPx, coarse.matches);
  if (layout?.widthPx === next.widthPx && layout.rowHeightPx === next.rowHeightPx) return;
  const topRow = layout ? Math.round(window.scrollY / layout.rowHeightPx) : 0;
  const topTab = layout ? firstTabOfRow(layout, topRow) : 0;
  layout = next;
  wall.setLayout(layout);
  if (topRow > 0) {
    showRows();
    window.scrollTo(0, rowOfTab(layout, topTab) * layout.rowHeightPx);
  }
  askFrame();
}

function askFrame() {
  if (frameAsked) return;
  frameAsked = true;
  requestAnimationFrame(() => {
    frameAsked = false;
    paint();
  });
}

function showRows() {
  const rows = stream ? rowsOfTabs(layout, stream.total, stream.ended || stream.trouble !== "") : 0;
  wall.setTotalRows(rows);
  return rows;
}

function paint() {
  if (!stream || !layout) return;
  // The header stays on top and the wall begins right beneath it.
  view = { scrolledPx: window.scrollY, heightPx: window.innerHeight - headerPx };
  const { rowHeightPx } = layout;
  const rows = showRows();
  const { first, end } = rowsInView(view.scrolledPx, view.heightPx, rowHeightPx, rows);
  const room = poolSize(view.heightPx, rowHeightPx);
  wall.paint(first, Math.min(end, first + room), stream.total);
  sayState();
  const wanted = rowsWanted(view.scrolledPx, view.heightPx, rowHeightPx);
  void stream.fillTo(firstTabOfRow(layout, wanted));
}

function sayState() {
  const { total, trouble, skipped, ended } = stream;
  if (trouble === "network") {
    const words = navigator.onLine === false ? "You are offline." : "The network did not answer.";
    say(total === 0 ? `${words} No tab could be loaded.` : words, "Try again");
  } else if (trouble === "missing") {
    say("These tabs are no longer where they were. A newer scan may be out.", "Look for it");
  } else if (!ended) {
    say("More tabs…", "");
  } else if (total === 0 && skipped.length === 0) {
    say("No tabs yet. The first scan has not put any here.", "Look again");
  } else if (skipped.length > 0) {
    const missing = skipped.length === 1 ? "One bundle" : `${skipped.length} bundles`;
    say(`${missing} of tabs could not be read.`, "Try again");
  } else {
    say(`That was every tab: ${count(total)}.`, "");
  }
}

function say(words, retry) {
  const message = byId("message");
  if (message.textContent !== words) message.textContent = words;
  const button = byId("retry");
  button.hidden = retry === "";
  if (button.textContent !== retry) button.textContent = retry;
}

function manifestWords(trouble) {
  if (trouble === "network") return "The network did not answer, so there are no tabs to show.";
  if (trouble === "missing") return "No scan has been published here: manifest.json is missing.";
  return "The list of tabs can't be read: manifest.json is not what it should be.";
}

function showCounts() {
  const { hosts, crawl, withIcon } = manifest;
  if (hosts > 0) byId("count").textContent = count(hosts);
  byId("of").textContent = hosts > 0 ? "of the web’s home pages" : "The web’s home pages";
  const facts = [withIcon > 0 ? `${count(withIcon)} with an icon` : "", crawl];
  byId("facts").textContent = facts.filter((fact) => fact !== "").join(" · ");
}

function count(number) {
  return number.toLocaleString("en");
}

function retry() {
  if (stream && stream.trouble !== "missing" && stream.total + stream.skipped.length > 0) {
    void stream.resume();
  } else {
    void begin(true);
  }
}

function moveBy(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !stream) return;
  const at = wall.indexOf(event.target);
  const firstInView = Math.ceil(view.scrolledPx / layout.rowHeightPx);
  const rows = rowsOfTabs(layout, stream.total, stream.ended);
  const shown = Math.min(stream.total, firstTabOfRow(layout, rows));
  const arrow = event.key.startsWith("Arrow");
  const next = at < 0 && arrow
    ? Math.min(firstTabOfRow(layout, firstInView), shown - 1)
    : neighbour(layout, at, event.key, shown);
  if (next === null || next < 0) return;
  event.preventDefault();
  const { rowHeightPx } = layout;
  const row = rowOfTab(layout, next);
  const top = scrollToShow(row, view.scrolledPx, view.heightPx, rowHeightPx);
  if (top !== null) window.scrollTo(0, top);
  paint();
  wall.focus(next);
}

function openTab(event) {
  const index = wall.indexOf(event.target);
  const tab = index < 0 ? undefined : stream?.at(index);
  const plain = event.button === 0 &&
    !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!tab || !plain) return;
  wall.cursor = index;
  if (!tab.frameable) return;
  event.preventDefault();
  card.hide();
  wall.markOpened(index);
  site.open(tab);
}

function showCard(event) {
  const link = event.target.closest?.(".tab");
  const index = wall.indexOf(link);
  const tab = index < 0 ? undefined : stream?.at(index);
  if (tab) card.show(link, tab);
}

container.addEventListener("click", openTab);
container.addEventListener("keydown", moveBy);
container.addEventListener("focusin", (event) => {
  const index = wall.indexOf(event.target);
  if (index >= 0) wall.cursor = index;
  if (index >= 0 && event.target.matches(":focus-visible")) showCard(event);
});
container.addEventListener("focusout", () => card.hide());
container.addEventListener("pointerover", (event) => {
  if (event.pointerType === "mouse") showCard(event);
});
container.addEventListener("pointerleave", () => card.hide());
byId("retry").addEventListener("click", retry);
byId("shuffle").addEventListener("click", () => {
  // A new seed in the address makes this very wall a link that can be shared.
  location.hash = `seed=${Date.now()}`;
});
window.addEventListener("hashchange", () => {
  seed = seedOfHash(location.hash) ?? seed;
  if (manifest) deal();
});
window.addEventListener("scroll", () => {
  card.hide();
  askFrame();
}, { passive: true });
window.addEventListener("resize", () => {
  measure();
  askFrame();
}, { passive: true });
window.addEventListener("online", () => {
  if (!stream || stream.trouble === "network") retry();
});
history.scrollRestoration = "manual";
void begin(false);
