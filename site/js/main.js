// Owns the visit: reads the manifest, joins stream, layout and wall, says what goes wrong, and
// loads what hands need once the first tabs are on screen.
// Invariants: all painting happens in animation frames, reads before writes; whatever fails, the
// page says so in words and offers to try again.
// Must not know: formats, geometry, how a tab is drawn.

import { bundlePath, fetchJson, readBundle, readManifest } from "./bundles.js";
import { firstTabOfRow, rowLayout, rowOfTab, rowsOfTabs, skinOf } from "./layout.js";
import { readHash, seedOfNumber, shuffledOrder, TabStream } from "./stream.js";
import { TabWall } from "./tabs.js";
import { poolSize, rowsInView, rowsToPaint, rowsWanted, rowTop } from "./viewport.js";

const byId = (id) => document.getElementById(id);
const coarse = matchMedia("(pointer: coarse)");
const wall = new TabWall(byId("wall"), (index) => visit.stream?.at(index));
/** What hands.js may see and do. */
const visit = {
  wall,
  manifest: null,
  stream: null,
  layout: null,
  view: { scrolledPx: 0, heightPx: 0 },
  headerPx: 0,
  paint,
};
/** What a visitor does with the wall, as soon as it is loaded. */
let hands = null;
let frameAsked = false;
let asked = readHash(location.hash) ?? { seed: seedOfNumber(Date.now()) };
/** The hostname that was searched for and is still to be found in its bundle. */
let sought = "";

async function begin(fresh) {
  visit.stream?.close();
  visit.stream = null;
  say("Opening tabs…", "");
  const { value, trouble } = await fetchJson("manifest.json", fresh);
  const manifest = trouble ? null : readManifest(value);
  visit.manifest = manifest;
  if (manifest === null) {
    say(manifestWords(trouble), "Try again");
    return;
  }
  const { hosts, crawl } = manifest;
  byId("facts").textContent = hosts > 0 ? `${count(hosts)} tabs · ${crawl}` : crawl;
  deal();
}

/** Deals the bundles anew, in the order that the hash asks for. */
function deal() {
  const { manifest } = visit;
  hands?.dealt();
  visit.stream?.close();
  const guess = manifest.hosts / Math.max(1, manifest.bundles);
  visit.stream = new TabStream({
    order: shuffledOrder(asked.seed, manifest.bundles, asked.bundle),
    fetchTabs,
    onChange: askFrame,
    tabsABundle: guess || undefined,
  });
  wall.cursor = 0;
  wall.markFound(-1);
  sought = asked.site ?? "";
  visit.layout = null;
  window.scrollTo(0, 0);
  measure();
  askFrame();
}

async function fetchTabs(number, again) {
  const { value, trouble } = await fetchJson(bundlePath(visit.manifest, number), again);
  if (trouble) return { trouble };
  const tabs = readBundle(value);
  return tabs === null ? { trouble: "broken" } : { tabs };
}

function measure() {
  const { layout } = visit;
  const next = rowLayout(wall.container.clientWidth, coarse.matches, byId("skin").value);
  visit.headerPx = byId("header").offsetHeight;
  if (["widthPx", "skin", "phone"].every((name) => layout?.[name] === next[name])) return;
  const { dataset } = document.documentElement;
  dataset.skin = next.skin;
  dataset.device = next.phone ? "phone" : "desktop";
  const topRow = layout ? Math.round(window.scrollY / layout.rowHeightPx) : 0;
  const topTab = layout ? firstTabOfRow(layout, topRow) : 0;
  visit.layout = next;
  wall.setLayout(next);
  hands?.makeRoom();
  if (topRow > 0) {
    showRows();
    window.scrollTo(0, rowTop(rowOfTab(next, topTab), next.rowHeightPx, wall.gap));
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
  const { stream, layout } = visit;
  const rows = stream ? rowsOfTabs(layout, stream.total, stream.ended || stream.trouble !== "") : 0;
  wall.setTotalRows(rows);
  return rows;
}

function paint() {
  const { stream, layout } = visit;
  if (!stream || !layout) return;
  // The header stays on top and the wall begins right beneath it.
  const scrolledPx = window.scrollY;
  const heightPx = window.innerHeight - visit.headerPx;
  visit.view = { scrolledPx, heightPx };
  const { rowHeightPx } = layout;
  const rows = showRows();
  const seen = rowsInView(scrolledPx, heightPx, rowHeightPx, rows, wall.gap, 0);
  const { first, end } = rowsToPaint(seen, wall.painted, poolSize(heightPx, rowHeightPx), rows);
  wall.paint(first, end, stream.total);
  sayState();
  void stream.fillTo(firstTabOfRow(layout, rowsWanted(scrolledPx, heightPx, rowHeightPx)));
  if (stream.total === 0) return;
  if (hands) afterPainting(stream);
  else void loadHands();
}

function afterPainting(stream) {
  hands.painted();
  if (sought === "") return;
  // The bundle of the site comes first in the line.
  const index = stream.indexOf(sought);
  sought = "";
  if (index >= 0) hands.find(index);
}

/** Without hands, tabs are still links: they are asked for again at the next painting. */
async function loadHands() {
  hands = { painted() {}, dealt() {}, makeRoom() {}, find() {} };
  try {
    const { Hands } = await import("./hands.js");
    hands = new Hands(visit);
    askFrame();
  } catch {
    hands = null;
  }
}

function sayState() {
  const { total, trouble, skipped, ended } = visit.stream;
  wall.container.classList.toggle("ended", ended);
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
  byId("foot").classList.toggle("wrong", retry !== "");
  if (button.textContent !== retry) button.textContent = retry;
}

function manifestWords(trouble) {
  if (trouble === "network") return "The network did not answer, so there are no tabs to show.";
  if (trouble === "missing") return "No scan has been published here: manifest.json is missing.";
  return "The list of tabs can't be read: manifest.json is not what it should be.";
}

function count(number) {
  return number.toLocaleString("en");
}

function retry() {
  const { stream } = visit;
  if (stream && stream.trouble !== "missing" && stream.total + stream.skipped.length > 0) {
    void stream.resume();
  } else {
    void begin(true);
  }
}

byId("retry").addEventListener("click", retry);
byId("shuffle").addEventListener("click", () => {
  // A new seed in the address makes this very wall a link that can be shared.
  location.hash = `seed=${Date.now()}`;
});
byId("skin").addEventListener("change", measure);
window.addEventListener("hashchange", () => {
  asked = readHash(location.hash) ?? asked;
  if (visit.manifest) deal();
});
window.addEventListener("scroll", askFrame, { passive: true });
window.addEventListener("resize", () => {
  measure();
  askFrame();
}, { passive: true });
window.addEventListener("online", () => {
  if (!visit.stream || visit.stream.trouble === "network") retry();
});
history.scrollRestoration = "manual";
wall.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
byId("skin").value = skinOf(navigator.userAgentData?.brands, navigator.userAgent);
void begin(false);
