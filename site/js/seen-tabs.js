// This module records which tabs were seen, each counted once, and describes their number and how
// far down the wall the view is.

import { count as formatted, SEEN } from "./strings.js";

/** Older bundles are not saved, so their tabs count again after a reload. */
const MAX_BUNDLES_SAVED = 5_000;
/** The bits for a bundle's seen tabs in stored data, for up to 10,000 tabs. */
const SLOTS = /^0x[0-9a-f]{1,2500}$/;
/** A longer pause without a new tab does not count for the pace. */
const MAX_PAUSE_MS = 10_000;
/** Before this time the pace is inaccurate. */
const MIN_PACE_MS = 20_000;
/** CSS defines a pixel as 1/96 inch. */
const METRES_PER_PX = 0.0254 / 96;
/** The heights of SEEN.things, in metres. */
const HEIGHTS = [0.5, 2, 5.5, 20, 46, 57, 96, 139, 157, 330, 443, 828, 8_849]
  .map((metres, i) => [metres, SEEN.things[i]]);
const UNITS = [
  ["year", 31_557_600_000], ["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000],
];

/** A scan's tabs that the visitor has seen. */
export class SeenTabs {
  #bundles = new Map();
  #lastMs = 0;
  /** How many tabs were seen, and in how many milliseconds. */
  count = 0;
  ms = 0;
  /** How many heights in HEIGHTS were reached. */
  heights = 0;

  /** `scan` is the scan's prefix; `saved`, a value from `save`, counts only for this scan. */
  constructor(scan, saved = null) {
    this.scan = scan;
    if (saved?.scan !== scan || !Array.isArray(saved.bundles)) return;
    for (const bundle of saved.bundles.slice(-MAX_BUNDLES_SAVED)) {
      const [number, bits] = Array.isArray(bundle) ? bundle : [];
      if (isCount(number) && SLOTS.test(bits)) this.#bundles.set(number, BigInt(bits));
    }
    for (const name of ["count", "heights"]) if (isCount(saved[name])) this[name] = saved[name];
    if (Number.isFinite(saved.ms) && saved.ms > 0) this.ms = saved.ms;
  }

  /** `nowMs` is a monotonic time. */
  add(bundle, slot, nowMs) {
    const bits = this.#bundles.get(bundle) ?? 0n;
    const bit = 1n << BigInt(slot);
    if ((bits & bit) !== 0n) return;
    this.count += 1;
    // Move the bundle to the end, because `save` keeps only the last ones.
    this.#bundles.delete(bundle);
    this.#bundles.set(bundle, bits | bit);
    if (nowMs - this.#lastMs < MAX_PAUSE_MS) this.ms += nowMs - this.#lastMs;
    this.#lastMs = nowMs;
  }

  save() {
    const { scan, count, ms, heights } = this;
    const bundles = [...this.#bundles].slice(-MAX_BUNDLES_SAVED)
      .map(([number, bits]) => [number, `0x${bits.toString(16)}`]);
    return { scan, count, ms, heights, bundles };
  }
}

/** Returns how many of `hosts` tabs were seen, in words. */
export function seenText({ count }, hosts) {
  const seen = SEEN.seen(count);
  if (hosts === 0) return seen;
  const percent = 100 * Math.min(1, count / hosts);
  const digits = percent < 10 ? 1 : 2;
  return SEEN.share(seen, rounded(percent, digits));
}

/** Returns how long the rest will take, in words; "" while there is no pace yet. */
export function paceText({ count, ms }, hosts) {
  if (ms < MIN_PACE_MS || count === 0 || count >= hosts) return "";
  const leftMs = ms * (hosts - count) / count;
  const [unit, unitMs] = UNITS.find(([, one]) => leftMs >= one) ?? UNITS.at(-1);
  const number = rounded(leftMs / unitMs, 2);
  return SEEN.pace(number, unit);
}

/** Returns how many of the HEIGHTS are at most `px` pixels. */
export function heightsWithin(px) {
  return HEIGHTS.filter(([metres]) => metres <= px * METRES_PER_PX).length;
}

/**
 * Returns the text for the last of the first `heights` HEIGHTS. `wallPx` is 0 if the wall's length
 * is unknown.
 */
export function heightText(heights, wallPx) {
  const [metres, thing] = HEIGHTS[heights - 1];
  const wall = wallPx * METRES_PER_PX;
  const height = wall < 2_000
    ? SEEN.metres(rounded(wall, 2)) : SEEN.kilometres(rounded(wall / 1_000, 2));
  if (thing === "") return SEEN.first(wall > 0 ? height : "");
  const down = SEEN.down(formatted(metres), thing);
  return wall > 0 ? `${down} ${2 * metres >= wall ? SEEN.halfway : SEEN.notHalfway}` : down;
}

/**
 * Returns how far down a view at `px` pixels is, or the last of the first `heights` HEIGHTS if that
 * is farther, in words; "" at the top.
 */
export function depthText(heights, px) {
  const reached = Math.max(heights, heightsWithin(px));
  if (reached === 0) return "";
  const [height, thing] = HEIGHTS[reached - 1];
  const metres = Math.max(height, px * METRES_PER_PX);
  return SEEN.depth(rounded(metres, 2), thing);
}

function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}

function rounded(number, maximumSignificantDigits) {
  return formatted(number, { maximumSignificantDigits });
}
