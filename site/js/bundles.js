// This module fetches files, and validates manifest.json, bundles and hostnames. Valid tabs link to
// http or https, have a small PNG or no icon, and have no control characters in their titles.

const MAX_URL_CHARACTERS = 2048;
const MAX_TITLE_CHARACTERS = 300;
const MAX_ICON_CHARACTERS = 64 * 1024;
const MAX_ENTRIES = 10_000;
const MAX_BUNDLES = 100_000_000;
const FETCH_TIMEOUT_MS = 20_000;
/** A PNG in base64: its signature, the header of the first chunk, and the rest. */
const PNG_BASE64 = /^iVBORw0KGgoAAAANSUhEUg[A-Za-z0-9+/]+={0,2}$/;
/** Bytes 16 to 23 in a PNG: width and height, each from 1 to 128 pixels. */
const PNG_SIDES = /\0{3}[\x01-\x80]\0{3}[\x01-\x80]$/;
const PLAIN_PATH = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\/?$/;
/** Hosts that may be on a private network, and all IP addresses. */
const PRIVATE = /^([^.]+|[\d.]+|.+\.(local(host)?|internal|lan|home\.arpa))\.?$/;
const INVISIBLE_ONLY = /^[\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{M}\u2800\u3164\u115f\u1160\uffa0]*$/u;

/**
 * Returns the valid parts of a manifest, or null if it is invalid. `overrides` becomes a Map from
 * bundle numbers to paths.
 */
export function readManifest(value) {
  if (!isObject(value)) return null;
  const { bundles, prefix } = value;
  if (!isCount(bundles) || bundles > MAX_BUNDLES) return null;
  if (typeof prefix !== "string" || !isPlainPath(prefix) || !prefix.endsWith("/")) return null;
  const overrides = new Map();
  if (isObject(value.overrides)) {
    for (const [number, path] of Object.entries(value.overrides)) {
      const plain = typeof path === "string" && isPlainPath(path) && path.endsWith(".json");
      if (/^\d{1,9}$/.test(number) && plain) overrides.set(Number(number), path);
    }
  }
  return {
    scan: textOf(value.scan),
    crawl: textOf(value.crawl),
    bundles,
    prefix,
    hosts: isCount(value.hosts) ? value.hosts : 0,
    contact: readContact(value.contact),
    overrides,
    search: value.search,
    map: value.map,
  };
}

/** Returns a bundle's path below the site's root, like `bundle_name` in bundler/src/manifest.rs. */
export function bundlePath(manifest, number) {
  return manifest.prefix + (manifest.overrides.get(number) ?? `tabs/${number}.json`);
}

/**
 * Returns a bundle's valid tabs, or null if this is not a bundle. The tab for `ownHost`, this
 * page's hostname, cannot be framed, because a frame from our own origin could leave its sandbox.
 */
export function readBundle(value, ownHost) {
  if (!isObject(value) || !Array.isArray(value.entries)) return null;
  const tabs = value.entries.slice(0, MAX_ENTRIES).map(readEntry).filter((tab) => tab !== null);
  for (const tab of tabs) {
    if (tab.host.replace(/\.$/, "") === ownHost) tab.frameable = false;
  }
  return tabs;
}

/** Returns {url, host, title, icon, frameable}, or null if the entry is invalid. */
export function readEntry(entry) {
  if (!isObject(entry) || typeof entry.url !== "string") return null;
  if (entry.url.length > MAX_URL_CHARACTERS) return null;
  let url;
  try {
    url = new URL(entry.url);
  } catch {
    return null;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  if (url.username !== "" || url.password !== "" || url.hostname === "") return null;
  return {
    url: url.href,
    host: url.hostname,
    title: readTitle(entry.title) || url.hostname,
    icon: readIcon(entry.icon),
    frameable: entry.iframe_ok === true && url.protocol === "https:" && !PRIVATE.test(url.hostname),
  };
}

/**
 * Returns a title as one line of at most 300 characters, without control characters and with at
 * most four marks in a row; "" if it is invisible.
 */
export function readTitle(title) {
  if (typeof title !== "string") return "";
  const line = title
    .slice(0, 4 * MAX_TITLE_CHARACTERS)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "")
    .replace(/(\p{M}{4})\p{M}+/gu, "$1")
    .trim();
  if (INVISIBLE_ONLY.test(line)) return "";
  const characters = [...line];
  return characters.length > MAX_TITLE_CHARACTERS
    ? characters.slice(0, MAX_TITLE_CHARACTERS).join("")
    : line;
}

/** Returns a base64 PNG up to 128 x 128 pixels as a data URL, or "" for anything else. */
export function readIcon(icon) {
  if (typeof icon !== "string" || icon.length > MAX_ICON_CHARACTERS) return "";
  if (icon.length < 32 || icon.length % 4 !== 0 || !PNG_BASE64.test(icon)) return "";
  // A small file may decode to a huge image.
  return PNG_SIDES.test(atob(icon.slice(0, 32))) ? `data:image/png;base64,${icon}` : "";
}

/**
 * Fetches JSON, or what `read` returns for the response. Resolves to {value}, or to {trouble}:
 * "network" (no response, status 429 or 5xx), "missing" (another error status) or "broken" (invalid
 * JSON).
 */
export async function fetchFile(
  url, { fresh, fetcher = fetch, read = (response) => response.json() } = {},
) {
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  try {
    const response = await fetcher(url, { signal, cache: fresh ? "no-cache" : "default" });
    if (response.status >= 500 || response.status === 429) return { trouble: "network" };
    return response.ok ? { value: await read(response) } : { trouble: "missing" };
  } catch ({ name }) {
    return { trouble: name === "SyntaxError" ? "broken" : "network" };
  }
}

/** Converts a hostname in any script to ASCII. Returns "" if it is invalid. */
export function hostnameOf(text) {
  if (text === "" || text.length > 253 || /[/?#@:\\\s]/.test(text)) return "";
  try {
    const { hostname } = new URL(`https://${text}`);
    return /^[a-z0-9._-]{1,253}$/.test(hostname) ? hostname : "";
  } catch {
    return "";
  }
}

function readContact(contact) {
  return /^(?:mailto:[^?]+@[^?]+|https:\/\/.+)$/.test(contact) ? textOf(contact) : "";
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}

function textOf(value) {
  return typeof value === "string" ? value.slice(0, 100) : "";
}

function isPlainPath(path) {
  return path.length <= 200 && PLAIN_PATH.test(path);
}
