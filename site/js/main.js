// This module connects stream, layout and wall, and loads interaction.js once the first tabs are on
// screen.

import { Address } from "./address.js";
import { bundlePath, fetchFile, readBundle, readManifest } from "./bundles.js";
import {
  firstTabOfRow, poolSize, rowLayout, rowOfTab, rowsOfTabs, rowsToPaint, skinOf,
} from "./layout.js";
import { shuffledOrder, TabStream } from "./stream.js";
import { TabWall } from "./tabs.js";

/** A scan with fewer tabs is incomplete. */
const FULL_SCAN_TABS = 10_000_000;
const byId = (id) => document.getElementById(id);
const coarse = matchMedia("(pointer: coarse)");
/** The style of the visitor's own browser. */
const ownSkin = skinOf(navigator.userAgentData?.brands, navigator.userAgent);
const wall = new TabWall(byId("wall"), (index) => page.stream?.at(index));
const address = new Address(followAddress);
const page = {
  wall,
  address,
  manifest: null,
  stream: null,
  layout: null,
  view: { scrolledPx: 0, heightPx: 0 },
  headerPx: 0,
  /** The site in the address, {host, index}, until its tab is found. */
  pendingSite: null,
  /** {tab, offsetPx} to scroll to as soon as the tab's row is known, or null. */
  pendingAnchor: null,
  /**
   * The shown wall, {scan, seed, site, bundle}. It starts with `bundle`, which contains the tab of
   * `site`.
   */
  shown: {},
  paint,
  updateRows,
  notify,
};
let interaction = null;
let isLoadingInteraction = false;
/** Counts messages, because a late one must not replace a newer one. */
let messages = 0;
let frameRequested = false;
/** The next wall's stream while it has no tabs, or null. */
let nextStream = null;

async function begin(fresh) {
  if (!page.stream) say("Opening tabs…", "");
  const { value, trouble } = await fetchFile("manifest.json", { fresh });
  const manifest = trouble ? null : readManifest(value);
  if (manifest === null) {
    void explain("manifestMessage", trouble);
    return;
  }
  page.manifest = manifest;
  if (manifest.hosts > 0) {
    const unit = manifest.hosts < FULL_SCAN_TABS ? "so far" : "tabs";
    byId("facts").textContent = `${manifest.hosts.toLocaleString("en")} ${unit}`;
  }
  await reset();
}

/** Loads the wall in the address. If the visitor left it in this history entry, it is restored. */
async function reset() {
  const { manifest } = page;
  const { seed, site, opened, tab, kept: before } = address;
  const scan = manifest.prefix;
  // A site that was not found is looked up again.
  const isSame = before?.scan === scan && (site === "" || before.bundle >= 0);
  const kept = isSame ? before : null;
  const { host, bundle, restore, trouble } = await findWall(kept);
  if (seed !== address.seed || site !== address.site) return;
  address.bundle = -1;
  notify(trouble ?? "");
  const tabsABundle = manifest.hosts / Math.max(1, manifest.bundles);
  const stream = new TabStream({
    order: shuffledOrder(seed, manifest.bundles, bundle),
    fetchTabs: (number, again) => fetchTabs(manifest, number, again),
    onChange: () => {
      if (stream !== nextStream) requestPaint();
      else if (stream.total > 0 || stream.ended) show();
      else sayState();
    },
    tabsABundle: tabsABundle || undefined,
  });
  restore?.(stream, kept.tabs);
  nextStream?.close();
  nextStream = stream;
  // The old tabs remain on screen until the first new ones are loaded.
  if (page.stream?.total > 0 && stream.total === 0) void stream.fillTo(1);
  else show();

  function show() {
    nextStream = null;
    interaction?.close();
    page.stream?.close();
    page.stream = stream;
    page.shown = { scan, seed, site, bundle };
    wall.setCursor(0);
    wall.markFound(-1);
    if (!host) address.opened = null;
    const isSought = host && (opened || !kept);
    page.pendingSite = isSought ? { index: -1, ...opened, host } : null;
    // All tabs above it must be loaded first, so it must not be too far down.
    const canReach = !isSought && tab > 0 && tab < stream.maxHeldTabs;
    page.pendingAnchor = kept?.anchor ?? (canReach ? { tab, offsetPx: 0 } : null);
    page.layout = null;
    window.scrollTo(0, 0);
    measure();
  }
}

async function findWall(kept) {
  const { site, opened, bundle } = address;
  const host = opened?.host ?? site;
  try {
    if (kept) {
      const { restoreStream: restore } = await import("./saved-stream.js");
      return { host, bundle: kept.bundle, restore };
    }
    if (site === "" || bundle >= 0) return { host, bundle };
    const { findBundleOf } = await import("./search-files.js");
    return await findBundleOf(site, page.manifest.prefix);
  } catch {
    return { bundle: -1, trouble: `Couldn't search for ${host}: part of this page didn't load.` };
  }
}

function followAddress() {
  const { seed, kept, opened } = address;
  const { shown } = page;
  byId("skin").value = address.skin || ownSkin;
  if (!page.manifest) return;
  const isShown = ["scan", "bundle"].every((name) => kept?.[name] === shown[name]);
  nextStream?.close();
  nextStream = null;
  if (!isShown || seed !== shown.seed) void reset();
  else if (opened) page.pendingSite = opened;
  else if (interaction?.close()) page.pendingAnchor = kept.anchor;
  requestPaint();
}

async function fetchTabs(manifest, number, fresh) {
  const { value, trouble } = await fetchFile(bundlePath(manifest, number), { fresh });
  if (trouble) return { trouble };
  const tabs = readBundle(value, location.hostname);
  return tabs === null ? { trouble: "broken" } : { tabs };
}

function measure() {
  const { layout } = page;
  const { clientWidth } = wall.container;
  const textScale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const next = rowLayout(clientWidth, coarse.matches, byId("skin").value, textScale);
  page.headerPx = byId("header").offsetHeight;
  const shaping = ["widthPx", "skin", "phone", "rowHeightPx"];
  const isSame = shaping.every((name) => layout?.[name] === next[name]);
  // Scrolling changes a phone's view height, but must not resize an open site.
  if (isSame && (next.phone || !wall.positions.gap)) return;
  const { dataset } = document.documentElement;
  dataset.skin = next.skin;
  dataset.device = next.phone ? "phone" : "desktop";
  if (layout) page.pendingAnchor ??= interaction?.anchorOfView() ?? null;
  page.layout = next;
  wall.setLayout(next);
  interaction?.makeRoom();
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
  const { stream, layout } = page;
  const rows = stream ? rowsOfTabs(layout, stream.total, stream.ended || stream.trouble !== "") : 0;
  wall.setTotalRows(rows);
  return rows;
}

function paint() {
  const { stream, layout, pendingAnchor } = page;
  if (!stream || !layout) return;
  const rows = updateRows();
  if (pendingAnchor && interaction) interaction.goToAnchor(rows);
  const scrolledPx = window.scrollY;
  const heightPx = window.innerHeight - page.headerPx;
  page.view = { scrolledPx, heightPx };
  const { positions } = wall;
  const view = positions.rowsIn(scrolledPx, heightPx, rows);
  const room = poolSize(heightPx, layout.rowHeightPx);
  const { first, end } = rowsToPaint(view, wall.painted, room, rows);
  // Until interaction.js can scroll to the anchor, painting would load tabs away from it.
  if (!pendingAnchor || interaction) wall.paint(first, end, stream.total);
  sayState();
  const soughtPx = pendingAnchor ? positions.topOf(rowOfTab(layout, pendingAnchor.tab)) : 0;
  const wanted = positions.rowsWanted(Math.max(scrolledPx, soughtPx), heightPx);
  void stream.fillTo(firstTabOfRow(layout, wanted));
  if (stream.total === 0 && !pendingAnchor) return;
  if (interaction) interaction.painted();
  else void loadInteraction();
}

/**
 * Until this succeeds, tabs are plain links. After a failure it waits at least 2 s and retries at
 * the next painting.
 */
async function loadInteraction() {
  if (isLoadingInteraction) return;
  isLoadingInteraction = true;
  try {
    const [{ Interaction }] = await Promise.all([import("./interaction.js"), import("./style.js")]);
    interaction = new Interaction(page);
  } catch {
    page.pendingAnchor = null;
    setTimeout(() => (isLoadingInteraction = false), 2_000);
  }
  requestPaint();
}

function sayState() {
  const { total, trouble, skipped, ended } = nextStream ?? page.stream;
  wall.container.classList.toggle("ended", page.stream.ended);
  if (trouble === "" && !ended) say("More tabs…", "");
  else void explain("streamMessage", { total, trouble, skipped });
}

/** `name` is the name of a function in messages.js. */
async function explain(name, state) {
  const number = (messages += 1);
  let words = ["The network isn't responding.", "Try again"];
  try {
    const described = await import("./messages.js");
    words = described[name](state, navigator.onLine !== false);
  } catch {
    // Without a network, messages.js does not load either.
  }
  if (number === messages) say(...words);
}

/** `action` is the button's label, or "" for no button. */
function say(text, action) {
  messages += 1;
  const message = byId("message");
  if (message.textContent !== text) message.textContent = text;
  const button = byId("retry");
  button.hidden = action === "";
  byId("foot").classList.toggle("wrong", action !== "");
  if (button.textContent !== action) button.textContent = action;
}

/** Shows a message over the wall; "" hides it. */
function notify(text) {
  byId("notice").textContent = text;
}

/** Loads again what failed. This needs a fresh manifest if the scan is gone. */
function retry() {
  const stream = nextStream ?? page.stream;
  const isThere = stream?.trouble === "" && stream.total + stream.skipped.length > 0;
  void (isThere || stream?.trouble === "network" ? stream.resume() : begin(true));
}

byId("retry").addEventListener("click", retry);
byId("find").addEventListener("keydown", ({ key }) => (page.lastKey = key));
byId("shuffle").addEventListener("click", () => address.goTo());
byId("skin").addEventListener("change", () => {
  const { value } = byId("skin");
  address.skin = value === ownSkin ? "" : value;
  address.replace(history.state);
  measure();
});
window.addEventListener("scroll", requestPaint, { passive: true });
window.addEventListener("resize", () => {
  measure();
  requestPaint();
}, { passive: true });
window.addEventListener("online", () => {
  const stream = nextStream ?? page.stream;
  if (!stream || stream.trouble === "network") retry();
});
history.scrollRestoration = "manual";
wall.setStill(matchMedia("(prefers-reduced-motion: reduce)").matches);
byId("skin").value = address.skin || ownSkin;
void begin(false);
