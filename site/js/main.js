// Owns the visit: reads the manifest, connects stream, layout and wall, shows messages, and loads
// interaction.js once the first tabs are on screen.
// Invariants: all painting happens in animation frames, and reads the DOM before it writes; after
// every failure the page says what failed and offers to try again.
// Must not know: formats, geometry, how a tab is drawn.

import { bundlePath, fetchJson, readBundle, readManifest } from "./bundles.js";
import { firstTabOfRow, rowLayout, rowOfTab, rowsOfTabs, skinOf } from "./layout.js";
import { readHash, seedOfNumber, shuffledOrder } from "./random.js";
import { TabStream } from "./stream.js";
import { TabWall } from "./tabs.js";
import { poolSize, rowsInView, rowsToPaint, rowsWanted, rowTop } from "./viewport.js";

const byId = (id) => document.getElementById(id);
const coarse = matchMedia("(pointer: coarse)");
const wall = new TabWall(byId("wall"), (index) => visit.stream?.at(index));
/** What interaction.js may use. */
const visit = {
  wall,
  manifest: null,
  stream: null,
  layout: null,
  view: { scrolledPx: 0, heightPx: 0 },
  headerPx: 0,
  paint,
};
/** The Interaction, once it is loaded. */
let interaction = null;
let frameRequested = false;
/** What the location hash asks for: {seed, bundle, site}. */
let wanted = readHash(location.hash) ?? { seed: seedOfNumber(Date.now()) };
/** The hostname from the hash, until its tab is found. */
let soughtHost = "";

async function begin(fresh) {
  visit.stream?.close();
  visit.stream = null;
  say("Opening tabs…", "");
  const { value, trouble } = await fetchJson("manifest.json", fresh);
  const manifest = trouble ? null : readManifest(value);
  visit.manifest = manifest;
  if (manifest === null) {
    say(manifestMessage(trouble), "Try again");
    return;
  }
  const { hosts, crawl } = manifest;
  byId("facts").textContent = hosts > 0 ? `${count(hosts)} tabs · ${crawl}` : crawl;
  reset();
}

/** Starts again from the top, with the order of bundles that the hash asks for. */
function reset() {
  const { manifest } = visit;
  interaction?.reset();
  visit.stream?.close();
  const tabsABundle = manifest.hosts / Math.max(1, manifest.bundles);
  visit.stream = new TabStream({
    order: shuffledOrder(wanted.seed, manifest.bundles, wanted.bundle),
    fetchTabs,
    onChange: requestPaint,
    tabsABundle: tabsABundle || undefined,
  });
  wall.setCursor(0);
  wall.markFound(-1);
  soughtHost = wanted.site ?? "";
  visit.layout = null;
  window.scrollTo(0, 0);
  measure();
  requestPaint();
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
  interaction?.makeRoom();
  if (topRow > 0) {
    updateRows();
    window.scrollTo(0, rowTop(rowOfTab(next, topTab), next.rowHeightPx, wall.gap));
  }
  requestPaint();
}

function requestPaint() {
  if (frameRequested) return;
  frameRequested = true;
  requestAnimationFrame(() => {
    frameRequested = false;
    paint();
  });
}

function updateRows() {
  const { stream, layout } = visit;
  const rows = stream ? rowsOfTabs(layout, stream.total, stream.ended || stream.trouble !== "") : 0;
  wall.setTotalRows(rows);
  return rows;
}

function paint() {
  const { stream, layout } = visit;
  if (!stream || !layout) return;
  // The view of the wall begins below the sticky header.
  const scrolledPx = window.scrollY;
  const heightPx = window.innerHeight - visit.headerPx;
  visit.view = { scrolledPx, heightPx };
  const { rowHeightPx } = layout;
  const rows = updateRows();
  const view = rowsInView(scrolledPx, heightPx, rowHeightPx, rows, wall.gap, 0);
  const { first, end } = rowsToPaint(view, wall.painted, poolSize(heightPx, rowHeightPx), rows);
  wall.paint(first, end, stream.total);
  sayState();
  void stream.fillTo(firstTabOfRow(layout, rowsWanted(scrolledPx, heightPx, rowHeightPx)));
  if (stream.total === 0) return;
  if (interaction) afterPainting(stream);
  else void loadInteraction();
}

function afterPainting(stream) {
  interaction.painted();
  if (soughtHost === "") return;
  // The first bundle is the one that holds the host.
  const index = stream.indexOf(soughtHost);
  soughtHost = "";
  if (index >= 0) interaction.find(index);
}

/** Until this succeeds tabs are plain links; after a failure the next painting tries again. */
async function loadInteraction() {
  interaction = { painted() {}, reset() {}, makeRoom() {}, find() {} };
  try {
    const { Interaction } = await import("./interaction.js");
    interaction = new Interaction(visit);
    requestPaint();
  } catch {
    interaction = null;
  }
}

function sayState() {
  const { total, trouble, skipped, ended } = visit.stream;
  wall.container.classList.toggle("ended", ended);
  if (trouble === "network") {
    const text = navigator.onLine === false ? "You are offline." : "The network did not answer.";
    say(total === 0 ? `${text} No tab could be loaded.` : text, "Try again");
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

/** Shows a message below the wall; `action` is the label of its button, or "": no button. */
function say(text, action) {
  const message = byId("message");
  if (message.textContent !== text) message.textContent = text;
  const button = byId("retry");
  button.hidden = action === "";
  byId("foot").classList.toggle("wrong", action !== "");
  if (button.textContent !== action) button.textContent = action;
}

function manifestMessage(trouble) {
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
  // The hash makes the shuffled wall a link that can be shared.
  location.hash = `seed=${Date.now()}`;
});
byId("skin").addEventListener("change", measure);
window.addEventListener("hashchange", () => {
  wanted = readHash(location.hash) ?? wanted;
  if (visit.manifest) reset();
});
window.addEventListener("scroll", requestPaint, { passive: true });
window.addEventListener("resize", () => {
  measure();
  requestPaint();
}, { passive: true });
window.addEventListener("online", () => {
  if (!visit.stream || visit.stream.trouble === "network") retry();
});
history.scrollRestoration = "manual";
wall.setStill(matchMedia("(prefers-reduced-motion: reduce)").matches);
byId("skin").value = skinOf(navigator.userAgentData?.brands, navigator.userAgent);
void begin(false);
