// Owns the statistics page: which values from stats.json and history.json are shown, with which
// text. Does not depend on how a chart is drawn.

import { fetchFile } from "./bundles.js";
import { bars, count, duration, largest, line, numberAt, share } from "./charts.js";

const STAGES = {
  index: "Read the crawl’s index",
  warc: "Read home pages",
  icon: "Download icons",
  "bundle-shard": "Write tabs",
  search: "Write search files",
  map: "Draw the map",
  publish: "Publish",
};

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
    text("crawl") && `Crawl ${text("crawl")}`, published && `published on ${published}`,
  ].filter(Boolean).join(", ");
  const pages = n("stages", "warc", "outcomes", "ok") || n("titles_extracted");
  const numbers = document.getElementById("numbers");
  numbers.replaceChildren(tiles([
    [count(n("total_domains")), "websites in the crawl"],
    [count(n("tabs")), "tabs on this site"],
    [count(n("tabs_with_icon")), "tabs with an icon"],
    [share(n("https"), n("https") + n("http_only")), "of websites use HTTPS"],
    [share(pages - n("iframe_restricted"), pages), "of home pages may be framed"],
    [count(n("attempted")), "icon requests"],
    [share(n("completed"), n("attempted")), "of icon requests succeeded"],
    [count(n("unique_icons_stored")), "different icons"],
    [bytes(n("bytes_downloaded")), "downloaded"],
    [count(n("total_bundles")), "files of tabs (bundles)"],
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
      "icon received": n("completed"),
      "host not found": n("failed_dns"),
      "timed out": n("failed_timeout"),
      "HTTP error": n("failed_http_error"),
      "not an image": n("failed_invalid_image"),
      "too large": n("failed_too_large"),
      "other failure": n("failed_other"),
    }, 8)),
    bars("Icon formats", largest(stats.selected_by_format, 8)),
    bars("Where icons were found", largest({
      "/favicon.ico": n("icons_by_source", "favicon_ico"),
      "linked by the page": n("icons_by_source", "link_rel"),
    }, 2)),
    bars("Encryption", largest({ "HTTPS": n("https"), "HTTP only": n("http_only") }, 2)),
    bars("Top-level domains", largest(stats.top_level_domains, 12)),
    bars("Time by stage", stages.filter(([, s]) => s > 0), (s) => duration(s)),
    line("Tabs in each scan", points),
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

const [{ value: stats }, { value: history }] = await Promise.all(
  [fetchFile("stats.json"), fetchFile("history.json")]);
if (typeof stats === "object" && stats !== null && !Array.isArray(stats)) show(stats, history);
else document.getElementById("about-scan").textContent = "There are no numbers here yet.";
