// Owns the page of numbers: which values of stats.json and history.json are shown, with which text.
// Must not know: how a chart is drawn.

import { bars, count, duration, largest, line, numberAt, share } from "./charts.js";

const STAGES = {
  index: "Reading the index",
  warc: "Reading home pages",
  icon: "Fetching icons",
  "bundle-shard": "Making tabs",
  search: "Search files",
  publish: "Publishing",
};

async function read(path) {
  try {
    const response = await fetch(path);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

function tiles(pairs) {
  const list = document.createElement("div");
  list.className = "tiles";
  for (const [number, label] of pairs) {
    if (number === "") continue;
    const tile = document.createElement("div");
    const amount = document.createElement("b");
    const what = document.createElement("span");
    tile.className = "tile";
    amount.textContent = number;
    what.textContent = label;
    tile.append(amount, what);
    list.append(tile);
  }
  return list;
}

function show(stats, history) {
  const n = (...path) => numberAt(stats, ...path);
  const text = (name) => (typeof stats[name] === "string" ? stats[name].slice(0, 100) : "");
  const published = text("generated_at").slice(0, 10);
  document.getElementById("about-scan").textContent = [
    text("crawl"), published && `published on ${published}`,
  ].filter(Boolean).join(", ");
  const pages = n("stages", "warc", "outcomes", "ok") || n("titles_extracted");
  const numbers = document.getElementById("numbers");
  numbers.replaceChildren(tiles([
    [count(n("total_domains")), "websites in the crawl"],
    [count(n("tabs")), "tabs on the page"],
    [count(n("tabs_with_icon")), "of them with an icon"],
    [share(n("https"), n("https") + n("http_only")), "reached over TLS"],
    [share(pages - n("iframe_restricted"), pages), "may be shown in a frame"],
    [count(n("attempted")), "icons asked for"],
    [share(n("completed"), n("attempted")), "of them came"],
    [count(n("unique_icons_stored")), "different pictures"],
    [bytes(n("bytes_downloaded")), "downloaded"],
    [count(n("total_bundles")), "bundles"],
  ]));
  const charts = document.createElement("div");
  charts.className = "charts";
  const stages = Object.entries(STAGES)
    .map(([kind, name]) => [name, n("stages", kind, "duration_seconds")]);
  const scans = Array.isArray(history?.scans) ? history.scans : [];
  const crawlOf = (scan) => String(scan?.crawl ?? "").slice(0, 40);
  const points = scans.map((scan) => [crawlOf(scan), numberAt(scan, "tabs")]);
  const drawn = [
    bars("How icon requests ended", largest({
      "came": n("completed"),
      "no such name": n("failed_dns"),
      "too slow": n("failed_timeout"),
      "refused by the server": n("failed_http_error"),
      "not a picture": n("failed_invalid_image"),
      "too large": n("failed_too_large"),
      "other trouble": n("failed_other"),
    }, 8)),
    bars("Formats of the icons shown", largest(stats.selected_by_format, 8)),
    bars("Where icons were named", largest(stats.icons_by_source, 6)),
    bars("TLS against plain", largest({ "https": n("https"), "http only": n("http_only") }, 2)),
    bars("Top-level domains", largest(stats.top_level_domains, 12)),
    bars("How long the stages took", stages.filter(([, s]) => s > 0), (s) => duration(s)),
    line("Tabs, scan by scan", points),
  ];
  charts.append(...drawn.filter(Boolean));
  numbers.append(charts);
}

function bytes(number) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; number >= 1000 && unit < units.length - 1; unit += 1) number /= 1000;
  return `${number.toFixed(number < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

const [stats, history] = await Promise.all([read("stats.json"), read("history.json")]);
if (typeof stats === "object" && stats !== null && !Array.isArray(stats)) show(stats, history);
else document.getElementById("about-scan").textContent = "There are no numbers here yet.";
