// This module reads and writes the page's address: seed, tab, site, open and skin in the location's
// hash. Values from a hash are untrusted, so they are validated.

import { hostnameOf } from "./bundles.js";
import { SKINS } from "./layout.js";

/**
 * Reads a location hash. Missing or invalid values become null (seed), 0 (tab), false (open) or "".
 * `site` is a hostname in ASCII, and `tab` is the number of the first tab in view.
 */
export function readAddress(hash) {
  const fields = new URLSearchParams(hash.slice(1));
  const number = (name, digits) => {
    const text = fields.get(name) ?? "";
    return /^\d+$/.test(text) && text.length <= digits ? Number(text) : null;
  };
  const seed = number("seed", 16);
  const site = hostnameOf(fields.get("site") ?? "");
  return {
    seed: seed === null ? null : seedOfNumber(seed),
    tab: number("tab", 9) ?? 0,
    site,
    open: site !== "" && fields.has("open"),
    skin: SKINS.find((name) => name === fields.get("skin")) ?? "",
  };
}

/** Writes a location hash. With a site, the tab is omitted. */
export function writeAddress({ seed, tab, site, open, skin }) {
  const place = site ? `&site=${site}${open ? "&open" : ""}` : tab > 0 ? `&tab=${tab}` : "";
  return `#seed=${seed}${place}${skin ? `&skin=${skin}` : ""}`;
}

/** Folds a number into a 32-bit seed. */
export function seedOfNumber(number) {
  return (Math.floor(number / 4294967296) ^ (number % 4294967296)) >>> 0;
}

/** This page's address. */
export class Address {
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
    this.seed = seedOfNumber(Date.now());
    /** The skin that the visitor chose, or "". Back and Forward do not change it. */
    this.skin = readAddress(location.hash).skin;
    this.beforeStep = () => {};
    this.#read();
    window.addEventListener("popstate", () => this.#follow());
    // When the visitor edits the hash, the new entry has no state, and the browser need not send
    // popstate.
    window.addEventListener("hashchange", () => history.state === null && this.#follow());
  }

  /** The wall's state in this history entry (see steps.js), or null for a new entry. */
  get kept() {
    return history.state?.scan ? history.state : null;
  }

  /**
   * Goes to a wall with a new seed. If `bundle`, the number of the bundle of `site`, is given, the
   * wall starts with it.
   */
  goTo(site = "", bundle = -1) {
    this.beforeStep();
    const seed = seedOfNumber(Date.now());
    Object.assign(this, { seed, tab: 0, site, bundle, opened: null });
    this.push({});
    this.#onChange();
  }

  push(state) {
    history.pushState(state, "", this.#hash());
  }

  replace(state) {
    try {
      history.replaceState(state, "", this.#hash());
    } catch {
      // Browsers limit how often this is allowed.
    }
  }

  #follow() {
    this.#read();
    this.#onChange();
  }

  #read() {
    const { seed, tab, site, open, skin } = readAddress(location.hash);
    const { kept } = this;
    this.seed = seed ?? this.seed;
    this.tab = tab;
    /** The site whose bundle is first on this wall, or "". */
    this.site = kept?.site ?? site;
    /** The number of the site's bundle in the current scan, or -1 if it is unknown. */
    this.bundle = -1;
    /** The open site, {host, index}, or null; `index` is -1 until its tab is known. */
    this.opened = open ? { host: site, index: kept?.index ?? -1 } : null;
    if (history.state === null) this.skin = skin || this.skin;
    this.replace(history.state ?? {});
  }

  #hash() {
    const { seed, tab, skin, opened, site } = this;
    return writeAddress({ seed, tab, skin, site: opened?.host ?? site, open: opened !== null });
  }
}
