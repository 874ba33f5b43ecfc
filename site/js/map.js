// This module runs the map page: it shows the map, finds sites on it, and opens a tab's card.

import { Announcer } from "./announcer.js";
import { fetchFile, readManifest } from "./bundles.js";
import { shownHost } from "./host-name.js";
import { readMap, readMapAddress, writeMapAddress } from "./map-address.js";
import { TabCard } from "./map-card.js";
import { MapList } from "./map-list.js";
import { MapSharing } from "./map-sharing.js";
import { MapView } from "./map-view.js";
import { bundleWords, manifestWords, seenWords, troubleWords } from "./map-words.js";
import { findBundleOf } from "./search-files.js";
import { typedKey } from "./search-keys.js";
import { SearchBox } from "./search.js";
import { COMMON, MAP, ORDERS } from "./strings.js";

/** At this scale, icons have twice their real size. */
const SITE_SCALE = 72;
/** Smaller cells, in CSS pixels, cannot be clicked on. */
const MIN_TAP_SCALE = 4;
const ZOOM_FACTOR = 2;

const byId = (id) => document.getElementById(id);
const canvas = byId("map");
const card = new TabCard(byId("tab-card"), () => choose(null));
const list = new MapList({
  list: byId("tabs"), words: byId("seen"), steps: byId("steps"), hint: byId("hint"),
}, {
  onChoose: (slot, button, bundle) => {
    search += 1;
    choose(bundle < 0 ? marks.get(slot) : { bundle: map.middleBundle, slot }, button);
  },
  onStep: (columns, rows) => {
    search += 1;
    choose(null);
    map.moveByBundles(columns, rows);
  },
});
let map = null;
/** The MapView of the default order. */
let plainMap = null;
let orders = null;
let manifest = null;
let format = null;
/**
 * The tab {bundle, slot, host, returnTo} whose card is shown once its bundle is loaded. `place` is
 * set if the tab was chosen in an order, and `isFound` if it was found by its name.
 */
let chosen = null;
/** The message about the visitor's last action, or "". */
let notice = "";
/** Counts searches and the actions that end them, so that an older search's result is discarded. */
let search = 0;
/** The order that is shown or being loaded, or "" for the default order. */
let wanted = "";
/** Counts the changes of the order, so that an order that loads late is not shown. */
let orderings = 0;
let openings = 0;
const CALLBACKS = { onTap: tap, onFrame: framed, onRest: rested, onMove: moved };
const announcer = new Announcer(byId("status"));
const sharing = new MapSharing({
  viewButton: byId("share-view"),
  cardButton: byId("tab-card").querySelector('[data-part="card"]'),
  siteLink: byId("tab-card").querySelector('[data-part="out"]'),
  mapOf: () => map,
  manifestOf: () => manifest,
  notify,
  returnTo: () => orders?.canvas ?? canvas,
});
let told = "";
let marks = new Map();
const HINT = byId("hint").textContent;

async function begin(fresh) {
  say(MAP.opening, "");
  openings += 1;
  const mine = openings;
  const { value, trouble } = await fetchFile("manifest.json", { fresh });
  // A newer call has requested the manifest again.
  if (mine !== openings) return;
  manifest = trouble ? null : readManifest(value);
  format = manifest && readMap(value, manifest);
  if (!format) {
    say(manifestWords(trouble, manifest, navigator.onLine), COMMON.retry);
    return;
  }
  say("", "");
  plainMap = new MapView(canvas, manifest, format, CALLBACKS);
  map = plainMap;
  offerOrders();
  for (const id of ["nearer", "farther", "all", "site"]) byId(id).disabled = false;
  sharing.begin();
  follow();
  // The map is usable without its landmarks.
  if (format.hasLandmarks) map.showLandmarks().catch(() => {});
}

function follow() {
  searchBox.hide();
  const { order } = readMapAddress(location.hash);
  if (format.orders.has(order)) {
    void showOrder(order);
    return;
  }
  showPlain();
  const site = map.followAddress();
  if (site) {
    void goToSite(site);
    return;
  }
  search += 1;
  notify("");
  choose(null);
}

/** Keeps showing the current map until the order is loaded. */
async function showOrder(name) {
  search += 1;
  orderings += 1;
  const mine = orderings;
  choose(null);
  notify("");
  map.isAway = true;
  press(name);
  const index = await loadOrder(name);
  if (mine !== orderings) return;
  if (!index) {
    map.isAway = false;
    press(map.order);
    notify(ORDERS.notLoaded);
    // At rest, the map writes its own address again.
    map.requestFrame();
    return;
  }
  choose(null);
  map = orders.show(name, index);
  map.isAway = false;
  map.followAddress();
  press(name);
}

/** Resolves to the order's index, or to null if the index or map-orders.js cannot be loaded. */
async function loadOrder(name) {
  try {
    const { MapOrders } = await import("./map-orders.js");
    orders ??= new MapOrders(canvas, byId("areas"), manifest, format, CALLBACKS);
    return await orders.load(name);
  } catch {
    return null;
  }
}

function showPlain() {
  orderings += 1;
  plainMap.isAway = false;
  if (map !== plainMap) {
    // Close the card first, because it may return the focus to the canvas that `hide` removes.
    choose(null);
    orders.hide();
  }
  map = plainMap;
  press("");
}

function offerOrders() {
  const buttons = [...byId("orders").children];
  for (const button of buttons) {
    button.hidden = button.value !== "" && !format.orders.has(button.value);
  }
  byId("orders").hidden = format.orders.size === 0;
}

/** The default order's button has the name "". */
function press(name) {
  wanted = name;
  for (const button of byId("orders").children) {
    button.setAttribute("aria-pressed", String(button.value === name));
  }
  byId("side").classList.toggle("ordered", map !== plainMap);
}

async function goToSite(host) {
  search += 1;
  const mine = search;
  notify(MAP.finding(shownHost(host)));
  const found = await findBundleOf(host, manifest.prefix);
  if (mine !== search) return;
  if (found.bundle < 0) {
    choose(null);
    notify(found.trouble);
    return;
  }
  flyToSite(found);
}

function flyToSite(found) {
  notify("");
  choose(null);
  showPlain();
  map.site = found.host;
  map.lit = { bundle: found.bundle, slot: found.slot ?? 0 };
  chosen = { ...map.lit, host: found.host, returnTo: null, isFound: true };
  map.wantBundle(found.bundle);
  map.flyTo(map.lit, SITE_SCALE);
}

/** `entry` is {bundle, slot}; null closes the card. */
function choose(entry, returnTo = null) {
  chosen = entry && { host: "", ...entry, returnTo };
  if (!entry) {
    card.hide();
    list.choose(-1);
  }
  if (!map) return;
  map.lit = null;
  map.tab = null;
  map.site = "";
  map.wantBundle(entry ? entry.bundle : -1);
  map.requestFrame();
}

function tap(entry, isKey) {
  search += 1;
  searchBox.hide();
  if (entry && !entry.host && map.motion.view.scale < MIN_TAP_SCALE) {
    notify(MAP.zoomIn);
  } else {
    notify("");
    const returnTo = isKey ? orders?.canvas ?? canvas : null;
    if (entry && map !== plainMap) void chooseAt(entry, returnTo);
    else choose(entry, returnTo);
  }
}

async function chooseAt(place, returnTo) {
  const mine = search;
  const entry = await orders.tabAt(place.bundle);
  if (mine !== search) return;
  choose(entry && { ...entry, place }, returnTo);
  if (!entry) notify(MAP.tabNotLoaded);
}

/** Shows the chosen tab's card once its bundle is loaded and any flight has ended. */
function showChosen() {
  if (!chosen || map.motion.isFlying) return;
  const { bundle, slot, host, returnTo, place, isFound } = chosen;
  const tabs = map.tabsOf(bundle);
  if (!tabs) {
    if (map.troubleOf(bundle)) notify(MAP.tabNotLoaded);
    return;
  }
  const isIt = (at) => host === "" || tabs.get(at)?.host === host;
  const at = isIt(slot) ? slot : [...tabs.keys()].find(isIt) ?? -1;
  const tab = tabs.get(at);
  chosen = null;
  if (!tab) {
    choose(null);
    if (host) notify(COMMON.notHere(shownHost(host)));
    else if (place) notify(ORDERS.emptied);
    return;
  }
  notify("");
  map.tab = { bundle, slot: at };
  map.lit = place ?? map.tab;
  map.site = tab.host;
  if (isFound) sharing.found(tab.host);
  card.show(tab, returnTo);
  uncover();
  describe();
  map.requestFrame();
}

function uncover() {
  if (map?.lit && card.isOpen) map.uncover(card.coveredPx);
  map?.requestFrame();
}

function framed() {
  if (!map) return;
  showChosen();
  const box = map.litBox;
  if (card.isOpen && box) card.moveBeside(box, map.motion.size);
  sayState();
}

function rested() {
  describe();
  tell(byId("seen").textContent);
}

function moved() {
  if (notice) notify("");
}

function describe() {
  if (map !== plainMap) {
    list.show(orders.words, { bundle: -1, tabs: null });
    return;
  }
  const bundle = map.middleBundle;
  if (!map.isNear || bundle < 0) {
    const seen = map.motion.isWhole ? manifest.hosts : map.tabsInView;
    const inView = map.landmarksInView;
    const isSame = inView.length === marks.size && inView.every((one, i) => marks.get(i) === one);
    if (!isSame) marks = new Map(inView.entries());
    list.show(seenWords(seen, manifest.hosts), {
      bundle: -1, tabs: marks.size > 0 ? marks : null, hint: marks.size > 0 ? MAP.landmarks : HINT,
    });
    return;
  }
  const tabs = map.tabsOf(bundle);
  const words = bundleWords(bundle, manifest.bundles, tabs?.size, map.troubleOf(bundle));
  list.show(words, { bundle, tabs: tabs ?? null });
  if (card.isOpen && map.lit?.bundle === bundle) list.choose(map.lit.slot);
}

function sayState() {
  const { words, action } = notice ? { words: notice, action: "" }
    : map.isEmpty && !map.trouble ? { words: MAP.loading, action: "" }
      : troubleWords(map.trouble, navigator.onLine);
  say(words, action);
  (orders?.canvas ?? canvas).setAttribute("aria-busy", String(map.isLoading));
}

/** `action` is the button's label, or "" for no button. */
function say(text, action) {
  const message = byId("message");
  if (message.textContent !== text) message.textContent = text;
  const button = byId("retry");
  button.hidden = action === "";
  if (button.textContent !== action) button.textContent = action;
}

function notify(text) {
  notice = text;
  if (map) sayState();
}

function tell(text) {
  if (text === told) return;
  told = text;
  announcer.say(text);
}

function retry() {
  if (!map) void begin(true);
  else if (map.trouble === "missing") location.reload();
  else map.retry();
}

const searchBox = new SearchBox({
  input: byId("site"),
  list: byId("found"),
  status: byId("found-status"),
  manifestOf: () => map && manifest,
  iconOf: () => "",
  goTo: (host, bundle, slot) => {
    search += 1;
    history.pushState(null, "", writeMapAddress({ site: host }));
    showPlain();
    canvas.focus({ preventScroll: true });
    flyToSite({ host, bundle, slot });
  },
  wasEntered: false,
});
byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  if (typedKey(byId("site").value) === "") notify(MAP.typeName);
  else searchBox.enter();
});
byId("orders").addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (!button || button.value === wanted) return;
  // Add a history entry, so that Back returns to the previous order.
  const hash = writeMapAddress({ order: button.value });
  history.pushState(null, "", hash || location.pathname + location.search);
  follow();
});
byId("nearer").addEventListener("click", () => map.gestures.zoom(ZOOM_FACTOR));
byId("farther").addEventListener("click", () => map.gestures.zoom(1 / ZOOM_FACTOR));
byId("all").addEventListener("click", () => map.gestures.showAll());
byId("retry").addEventListener("click", retry);
byId("toggle").addEventListener("click", ({ currentTarget }) => {
  const isOpen = currentTarget.getAttribute("aria-expanded") !== "true";
  currentTarget.setAttribute("aria-expanded", String(isOpen));
  byId("side").classList.toggle("open", isOpen);
  // Wait until the canvas has its new size.
  requestAnimationFrame(() => requestAnimationFrame(uncover));
});
canvas.addEventListener("pointermove", ({ offsetX, offsetY, pointerType, buttons }) => {
  if (!map || pointerType !== "mouse" || buttons > 0) return;
  const point = { x: offsetX, y: offsetY };
  const mark = map.landmarkAt(point);
  const tab = mark ? undefined : map.tabAtPoint(point);
  const title = mark ? mark.title : tab ? `${tab.title}\n${shownHost(tab.host)}` : "";
  if (canvas.title !== title) canvas.title = title;
  canvas.classList.toggle("choosable", title !== "");
});
document.addEventListener("keydown", ({ key }) => {
  // If a dialog is open, Escape closes only the dialog.
  if (key === "Escape" && document.querySelector("dialog[open]") === null) choose(null);
});
window.addEventListener("hashchange", () => map && follow());
window.addEventListener("online", () => (map ? map.trouble === "network" : true) && retry());
void begin(false);
