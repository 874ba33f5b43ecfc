// This module fills the statistics page from stats.json and history.json.

import { fetchFile } from "./bundles.js";
import { bars, count, duration, largest, line, numberAt, share } from "./charts.js";
import { STATS } from "./strings.js";

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
    text("crawl") && STATS.crawl(text("crawl")), published && STATS.published(published),
  ].filter(Boolean).join(", ");
  const pages = n("stages", "warc", "outcomes", "ok") || n("titles_extracted");
  const numbers = document.getElementById("numbers");
  numbers.replaceChildren(tiles([
    [count(n("total_domains")), STATS.websites],
    [count(n("tabs")), STATS.tabs],
    [count(n("tabs_with_icon")), STATS.tabsWithIcon],
    [share(n("https"), n("https") + n("http_only")), STATS.useHttps],
    [share(pages - n("iframe_restricted"), pages), STATS.mayBeFramed],
    [count(n("attempted")), STATS.requests],
    [share(n("completed"), n("attempted")), STATS.succeeded],
    [count(n("unique_icons_stored")), STATS.differentIcons],
    [bytes(n("bytes_downloaded")), STATS.downloaded],
    [count(n("total_bundles")), STATS.bundles],
  ]));
  const charts = document.createElement("div");
  charts.className = "charts";
  const stages = Object.entries(STATS.stage)
    .map(([kind, name]) => [name, n("stages", kind, "duration_seconds")]);
  const scans = Array.isArray(history?.scans) ? history.scans : [];
  const crawlOf = (scan) => String(scan?.crawl ?? "").slice(0, 40);
  const points = scans.map((scan) => [crawlOf(scan), numberAt(scan, "tabs")]);
  const drawn = [
    bars(STATS.outcomes, largest(named(STATS.outcome, (name) => n(name)), 8)),
    bars(STATS.formats, largest(stats.selected_by_format, 8)),
    bars(STATS.sources, largest(named(STATS.source, (name) => n("icons_by_source", name)), 2)),
    bars(STATS.encryption, largest(
      { [STATS.https]: n("https"), [STATS.httpOnly]: n("http_only") }, 2)),
    bars(STATS.domains, largest(stats.top_level_domains, 12)),
    bars(STATS.times, stages.filter(([, s]) => s > 0), (s) => duration(s)),
    line(STATS.history, points),
  ];
  charts.append(...drawn.filter(Boolean));
  numbers.append(charts);
}

function named(labels, numberOf) {
  return Object.fromEntries(Object.entries(labels).map(([name, label]) => [label, numberOf(name)]));
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
else document.getElementById("about-scan").textContent = STATS.none;
