// Owns which tabs were seen, each counted once, and the text about their count and about how far
// down the wall the view is. Does not depend on the DOM, on what is in view, or on where this is
// stored.

/** At most this many bundles are saved, the last ones: their tabs are not counted again. */
const MAX_BUNDLES_SAVED = 5_000;
/** Maximum slots per bundle whose seen state is stored, as bits. */
const SLOTS = /^0x[0-9a-f]{1,2500}$/;
/** A longer time without a new tab does not count for the pace. */
const MAX_PAUSE_MS = 10_000;
/** The pace is told after this time, when it means something. */
const MIN_PACE_MS = 20_000;
/** CSS defines a pixel as 1/96 inch. */
const METRES_PER_PX = 0.0254 / 96;
/** Heights in metres, from the ground to the top. The first, half a metre, is not mentioned. */
const HEIGHTS = [
  [0.5, ""],
  [2, "a door"],
  [5.5, "a giraffe"],
  [20, "the Great Sphinx of Giza"],
  [46, "the Statue of Liberty without her pedestal"],
  [57, "the Leaning Tower of Pisa"],
  [96, "the tower of Big Ben"],
  [139, "the Great Pyramid of Giza"],
  [157, "Cologne Cathedral"],
  [330, "the Eiffel Tower"],
  [443, "the Empire State Building"],
  [828, "the Burj Khalifa"],
  [8_849, "Mount Everest"],
];
const UNITS = [
  ["year", 31_557_600_000], ["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000],
];

/** A scan's seen tabs. */
export class SeenTabs {
  #bundles = new Map();
  #lastMs = 0;
  /** Tab count, and the milliseconds in which they were seen. */
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

  /** Adds the tab in a bundle's slot; `nowMs` is a monotonic time. */
  add(bundle, slot, nowMs) {
    const bits = this.#bundles.get(bundle) ?? 0n;
    const bit = 1n << BigInt(slot);
    if ((bits & bit) !== 0n) return;
    this.count += 1;
    // The most recently seen bundle is the map's last.
    this.#bundles.delete(bundle);
    this.#bundles.set(bundle, bits | bit);
    if (nowMs - this.#lastMs < MAX_PAUSE_MS) this.ms += nowMs - this.#lastMs;
    this.#lastMs = nowMs;
  }

  /** Returns a value for JSON. */
  save() {
    const { scan, count, ms, heights } = this;
    const bundles = [...this.#bundles].slice(-MAX_BUNDLES_SAVED)
      .map(([number, bits]) => [number, `0x${bits.toString(16)}`]);
    return { scan, count, ms, heights, bundles };
  }
}

/** Returns how many of `hosts` tabs were seen, in words. */
export function seenText({ count }, hosts) {
  const seen = `${count.toLocaleString("en")} ${count === 1 ? "tab" : "tabs"} seen`;
  if (hosts === 0) return seen;
  const percent = 100 * Math.min(1, count / hosts);
  const digits = percent < 10 ? 1 : 2;
  return `${seen}: ${rounded(percent, digits)} % of the web`;
}

/** Returns how long all `hosts` tabs take, in words; "" while there is no pace yet. */
export function paceText({ count, ms }, hosts) {
  if (ms < MIN_PACE_MS || count === 0 || count >= hosts) return "";
  const leftMs = ms * (hosts - count) / count;
  const [unit, unitMs] = UNITS.find(([, one]) => leftMs >= one) ?? UNITS.at(-1);
  const number = rounded(leftMs / unitMs, 2);
  return `At this pace the rest takes ${number} ${unit}${number === "1" ? "" : "s"}.`;
}

/** Returns how many known heights a wall reaches in `px` pixels. */
export function heightsWithin(px) {
  return HEIGHTS.filter(([metres]) => metres <= px * METRES_PER_PX).length;
}

/**
 * Returns the text for reaching the first `heights` known heights in a wall that is `wallPx` long;
 * 0 if its length is unknown.
 */
export function heightText(heights, wallPx) {
  const [metres, thing] = HEIGHTS[heights - 1];
  const wall = wallPx * METRES_PER_PX;
  const length = wall < 2_000
    ? `${rounded(wall, 2)} metres` : `${rounded(wall / 1_000, 2)} kilometres`;
  if (thing === "") {
    return `Half a metre down.${wall > 0 ? ` All the tabs are ${length} long.` : ""}`;
  }
  const far = `${metres.toLocaleString("en")} metres down, as far as ${thing} is high.`;
  return wall > 0 ? `${far} Halfway: ${2 * metres >= wall ? "yes" : "no"}.` : far;
}

function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}

function rounded(number, maximumSignificantDigits) {
  return number.toLocaleString("en", { maximumSignificantDigits });
}
