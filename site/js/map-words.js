// This module composes the map page's text.

import { shownHost } from "./host-name.js";
import { COMMON, MAP, ORDERS, regionName } from "./strings.js";

/** Returns why there is no map. */
export function manifestWords(trouble, manifest, isOnline) {
  if (trouble === "network") return MAP.noMap(isOnline);
  if (trouble === "missing") return MAP.noScan;
  if (!manifest) return MAP.damaged;
  return manifest.bundles === 0 ? MAP.noTabs : MAP.without;
}

/** Returns {words, action}, where `action` is a button's label, or "". */
export function troubleWords(trouble, isOnline) {
  if (trouble === "network") return { words: MAP.partMissing(isOnline), action: COMMON.retry };
  if (trouble === "missing") return { words: MAP.moved, action: COMMON.refresh };
  if (trouble) return { words: MAP.unreadable, action: COMMON.retry };
  return { words: "", action: "" };
}

/** If only a part is visible, the number is an estimate, rounded to three digits. */
export function seenWords(seen, all) {
  if (all === 0) return MAP.unknownCount;
  return seen >= all ? MAP.all(all) : MAP.some(Number(seen.toPrecision(3)), all);
}

/** `tabs` is the number of tabs, or undefined until the bundle is loaded. */
export function bundleWords(bundle, bundles, tabs, trouble) {
  const state = tabs !== undefined ? MAP.tabs(tabs) : trouble ? MAP.notLoaded : MAP.isLoading;
  return MAP.block(bundle + 1, bundles, state);
}

/** Returns the label of an order's area: a colour, a top-level domain, or a range of ranks. */
export function areaLabel(order, name) {
  if (name === "none") return ORDERS.none[order];
  if (order === "colour") return ORDERS.colours[name] ?? name;
  if (order === "rank") return ORDERS.ranks[name] ?? name;
  const region = /^[a-z]{2}$/.test(name) ? regionName(name) : "";
  return ORDERS.domain(shownHost(name), region);
}

/** `area` {name, tabs} is the area at the centre, or undefined. */
export function inOrderWords(order, seen, all, area) {
  const words = [seenWords(seen, all)];
  if (area) words.push(ORDERS.centre(areaLabel(order, area.name), area.tabs));
  return words.join(" ");
}
