// A site whose names, titles and icons are generated from a seed, so that the tests need no real
// site or logo.

import { readFileSync } from "node:fs";
import * as zlib from "node:zlib";
import { compareKeys, rangeOf, searchKey } from "../js/search-keys.js";
import { generator } from "../js/stream.js";

/** A page that bundler/src/link_page.rs wrote. */
const LINK_PAGE = readFileSync(new URL("link-page.html", import.meta.url), "utf8");
const FIRST = ("amber birch cedar delta ember fjord grove harbor iris juniper kelp lumen maple " +
  "north ocean pine quartz river stone tidal upland velvet willow yarrow zephyr").split(" ");
const SECOND = ("bakery books bikes cafe choir clinic dance design farm film garden guitar " +
  "kitchen lab library market museum pottery press radio school sewing tea theatre tools")
  .split(" ");
const TITLES = [
  (a, b) => `${cap(a)} ${cap(b)}`,
  (a, b) => `${cap(b)} in the ${cap(a)} valley: opening hours, prices and how to find us`,
  (a, b) => `Home - ${cap(a)} ${cap(b)} Society`,
  (a, b) => `${cap(a)}${cap(b)}.example | Welcome`,
  (a, b) => `Die ${cap(a)}-Werkstatt für ${cap(b)} und schöne Dinge`,
  (a) => `Мастерская «${cap(a)}» — главная страница`,
  (a) => `${cap(a)} 図書館 ようこそ`,
  (a) => `مكتبة ${cap(a)} الصفحة الرئيسية`,
  (a) => `${cap(a)} 자전거 수리점`,
  (a, b) => `Ελληνικά ${b} — αρχική σελίδα`,
  (a, b) => `The ${a} ${b} 🌿`,
  (a, b) => `${b}`,
];

export const HOSTILE_TITLES = [
  "<script>document.documentElement.dataset.owned = 1</script>",
  "<img src=x onerror=\"document.documentElement.dataset.owned = 1\">",
  "\u202egnippils txeT\u202c",
  "Z\u0351\u034b\u0343a\u0363\u0350l\u0349\u0353g\u033c\u0319o\u0341\u0340 ".repeat(10),
  "W".repeat(300),
  "{{constructor.constructor('document.documentElement.dataset.owned = 1')()}}",
];

function cap(word) {
  return word[0].toUpperCase() + word.slice(1);
}

export const BACKGROUND = [220, 220, 220];
/** Bundles per tile side at the map's finest level. */
export const BUNDLES_A_TILE = 6;

export function mapFormat(bundles, tabsABundle, extension = "png") {
  const side = Math.ceil(Math.sqrt(bundles));
  const grid = Math.ceil(Math.sqrt(tabsABundle));
  const levels = 1 + Math.max(0, Math.ceil(Math.log2(side / BUNDLES_A_TILE)));
  const hex = BACKGROUND.map((value) => value.toString(16).padStart(2, "0")).join("");
  return { side, grid, levels, tile: 48 * grid, extension, background: `#${hex}` };
}

/** Returns about `tabsABundle` tabs per bundle, with these top-level `domains`. */
export function sampleSite({
  bundles, tabsABundle = 120, seed = 1, emptyEvery = 0, domains = ["example"],
}) {
  const prefix = "scans/00000000-0000-4000-8000-000000000001/";
  const hosts = bundles * tabsABundle;
  const icons = new Map();
  let files = null;
  return {
    prefix,
    manifest: {
      scan: "00000000-0000-4000-8000-000000000001",
      crawl: "CC-MAIN-2099-05",
      bundles,
      prefix,
      generated_at: "2099-02-01T00:00:00Z",
      hosts,
      with_icon: Math.floor(hosts * 0.8),
      map: mapFormat(bundles, tabsABundle),
    },
    stats: () => sampleStats(hosts, bundles),
    history: () => ({
      scans: [0.71, 0.78, 0.83, 0.8, 0.91, 0.96, 1].map((part, month) => ({
        scan: `0000000${month}`,
        crawl: `CC-MAIN-2098-${10 + 5 * month}`,
        tabs: Math.floor(hosts * part),
      })),
    }),
    search(name) {
      files ??= searchFiles(hosts, tabsABundle, seed, domains);
      return files.get(name);
    },
    linkPage(number) {
      const sizes = Array.from({ length: number + 1 }, (_, at) => this.bundle(at).entries.length);
      const tabs = sizes.pop();
      const first = sizes.reduce((sum, size) => sum + size, 0);
      return LINK_PAGE.replace(/data-scan="[^"]*" data-tabs="\d+" data-first="\d+"/,
        `data-scan="${prefix}" data-tabs="${tabs}" data-first="${first}"`);
    },
    bundle(number) {
      if (emptyEvery > 0 && number % emptyEvery === 0) return { entries: [] };
      const entries = [];
      for (let slot = 0; slot < tabsABundle; slot += 1) {
        entries.push(sampleTab(number * tabsABundle + slot, seed, icons, domains));
      }
      return { entries };
    },
  };
}

function sampleStats(hosts, bundles) {
  const part = (share) => Math.floor(hosts * share);
  const stage = (seconds) => ({ duration_seconds: seconds, outcomes: {}, counts: {} });
  return {
    scan: "00000000-0000-4000-8000-000000000001",
    crawl: "CC-MAIN-2099-05",
    generated_at: "2099-02-01T00:00:00Z",
    total_domains: part(1.1),
    https: part(0.94),
    http_only: part(0.16),
    titles_extracted: part(1.02),
    iframe_restricted: part(0.37),
    attempted: part(2.6),
    completed: part(1.4),
    failed_dns: part(0.12),
    failed_timeout: part(0.09),
    failed_http_error: part(0.83),
    failed_invalid_image: part(0.1),
    failed_too_large: part(0.01),
    failed_other: part(0.05),
    unique_icons_stored: part(0.9),
    bytes_downloaded: hosts * 9_100,
    tabs: hosts,
    tabs_with_icon: part(0.8),
    total_bundles: bundles,
    selected_by_format: { png: part(0.46), ico: part(0.25), svg: part(0.05), jpeg: part(0.04) },
    icons_by_source: { favicon_ico: part(1.1), link_rel: part(1.5) },
    top_level_domains: { com: part(0.48), de: part(0.07), org: part(0.06), ru: part(0.04) },
    stages: {
      index: stage(812), warc: stage(9_310), icon: stage(40_120), "bundle-shard": stage(3_020),
      search: stage(64), publish: stage(7.3),
    },
  };
}

/** Like those from the `search` jobs, but with only a hundred lines each. */
function searchFiles(hosts, tabsABundle, seed, domains) {
  const ranges = Array.from({ length: 28 }, () => []);
  for (let index = 0; index < hosts; index += 1) {
    const { host } = sampleHost(index, seed, domains);
    const key = searchKey(host);
    const place = `${Math.floor(index / tabsABundle)}\t${index % tabsABundle}`;
    ranges[rangeOf(key)].push({ key, line: `${host}\t${place}\n` });
  }
  const files = new Map();
  ranges.forEach((lines, range) => {
    lines.sort((x, y) => compareKeys(x.key, y.key));
    let firsts = "";
    for (let from = 0; from < lines.length; from += 100) {
      const some = lines.slice(from, from + 100);
      firsts += `${some[0].key}\n`;
      files.set(`${range}/${from / 100}.tsv`, some.map(({ line }) => line).join(""));
    }
    files.set(`${range}/index.tsv`, firsts);
  });
  return files;
}

const ICONS = 240;

function sampleHost(index, seed, domains) {
  const random = generator(seed * 7919 + index);
  const [a, b] = [FIRST, SECOND].map((list) => list[Math.floor(random() * list.length)]);
  const domain = domains[Math.floor(generator(index)() * domains.length)];
  const host = `${random() < 0.3 ? "www." : ""}${a}-${b}-${index}.${domain}`;
  return { a, b, host, random };
}

function sampleTab(index, seed, icons, domains) {
  const { a, b, host, random } = sampleHost(index, seed, domains);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const hostile = index % 97 === 5;
  const title = hostile ? HOSTILE_TITLES[index % HOSTILE_TITLES.length] : pick(TITLES)(a, b);
  const secure = random() < 0.85;
  const entry = { url: `http${secure ? "s" : ""}://${host}`, title, icon: "" };
  if (random() < 0.8) {
    const which = Math.floor(random() * ICONS);
    const side = which % 4 === 0 ? 16 : 32;
    if (!icons.has(which)) {
      icons.set(which, iconPng(side, generator(which)).toString("base64"));
    }
    entry.icon = icons.get(which);
    entry.icon_w = side;
    entry.icon_h = side;
  }
  entry.iframe_ok = secure && random() < 0.6;
  return entry;
}

export function iconPng(side, random) {
  const colours = [colour(random()), random() < 0.6 ? [255, 255, 255, 255] : colour(random())];
  const ground = GROUNDS[Math.floor(random() * GROUNDS.length)];
  const figure = FIGURES[Math.floor(random() * FIGURES.length)];
  const pixels = Buffer.alloc(side * (side * 4 + 1));
  const samples = 4;
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      const sum = [0, 0, 0, 0];
      for (let s = 0; s < samples * samples; s += 1) {
        const u = ((x + (0.5 + (s % samples)) / samples) / side) * 2 - 1;
        const v = ((y + (0.5 + Math.floor(s / samples)) / samples) / side) * 2 - 1;
        const shown = ground(u, v) ? colours[figure(u, v) ? 1 : 0] : [0, 0, 0, 0];
        shown.forEach((value, i) => {
          sum[i] += i < 3 ? (value * shown[3]) / 255 : value;
        });
      }
      const alpha = sum[3] / samples ** 2;
      const at = y * (side * 4 + 1) + 1 + x * 4;
      for (let i = 0; i < 3; i += 1) {
        pixels[at + i] = sum[3] > 0 ? Math.round((sum[i] * 255) / sum[3]) : 0;
      }
      pixels[at + 3] = Math.round(alpha);
    }
  }
  return png(side, side, pixels);
}

const GROUNDS = [
  (u, v) => u * u + v * v < 0.98,
  (u, v) => Math.abs(u) ** 5 + Math.abs(v) ** 5 < 0.95,
  () => true,
  (u, v) => Math.abs(u) + Math.abs(v) < 1,
  (u, v) => v < 0.9 && v > 2 * Math.abs(u) - 1,
];
const FIGURES = [
  (u, v) => u * u + v * v < 0.2,
  (u, v) => Math.abs(u) < 0.16 || Math.abs(v) < 0.16,
  (u, v) => Math.abs(u * u + v * v - 0.35) < 0.14,
  (u, v) => Math.sin(v * 9) > 0.2,
  (u, v) => v > u * 0.4,
  (u, v) => Math.abs(u) < 0.5 && Math.abs(v) < 0.5 && (Math.abs(u) > 0.25 || v < -0.1),
  (u, v) => Math.hypot(u - 0.25, v + 0.2) < 0.4 || Math.hypot(u + 0.3, v - 0.25) < 0.25,
];

function colour(hue) {
  const channel = (shift) => {
    const t = (hue + shift) % 1;
    return Math.round(255 * (0.15 + 0.65 * Math.min(1, Math.max(0, Math.abs(t * 6 - 3) - 1))));
  };
  return [channel(0), channel(1 / 3), channel(2 / 3), 255];
}

/** Each of the RGBA rows follows its filter byte. */
export function png(width, height, filteredRows) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", zlib.deflateSync(filteredRows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** zlib.crc32 exists since Node 20.15; before, the CRC is computed bit by bit. */
function crc32(bytes) {
  if (zlib.crc32) return zlib.crc32(bytes);
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
