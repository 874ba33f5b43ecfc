// This module reads and writes the page's address: seed, tab, site, open and skin in the location's
// hash. The page always has an address that leads to the same wall, and values from a hash are
// validated.

import { hostnameOf } from "./bundles.js";
import { SKINS } from "./layout.js";

/**
 * Reads a location hash. If a value is absent or invalid, it is null, "" or false. `site` is a
 * hostname in ASCII; `tab` is the number of the first tab in view.
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

/** Inverse of `readAddress`. With a site, the tab is omitted. */
export function writeAddress({ seed, tab, site, open, skin }) {
  const place = site ? `&site=${site}${open ? "&open" : ""}` : tab > 0 ? `&tab=${tab}` : "";
  return `#seed=${seed}${place}${skin ? `&skin=${skin}` : ""}`;
}

/** Folds a number to a 32-bit seed. */
export function seedOfNumber(number) {
  return (Math.floor(number / 4294967296) ^ (number % 4294967296)) >>> 0;
}

/** This page's address. */
export class Address {
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
    this.seed = seedOfNumber(Date.now());
    /** The skin that the visitor chose, or "". Going back keeps it. */
    this.skin = readAddress(location.hash).skin;
    this.beforeStep = () => {};
    this.#read();
    window.addEventListener("popstate", () => this.#follow());
    // An edited hash has no state, and need not send popstate.
    window.addEventListener("hashchange", () => history.state === null && this.#follow());
  }

  /** The wall's state in this history entry (see steps.js); null for a new entry. */
  get kept() {
    return history.state?.scan ? history.state : null;
  }

  /** Goes to a new wall, which starts with `bundle` if it is given, for `site`. */
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
    /** This bundle's number in the current scan, or -1 if it is unknown. */
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
