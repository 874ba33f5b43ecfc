// This module shows one crawl.

import { Chart } from "./chart.js";
import { byId, fill, make, makeRow, makeSum, setText, show } from "./document.js";
import {
  bytes, count, day, duration, rate, secondsLeft, spoken, sumOf, whyItWaits,
} from "./words.js";

const PARTS = ["captured", "failed", "refused", "left", "pending"];
const MOST_REASONS = 30;
const ENDS = {
  empty: "all was fetched", limit: "it has its pages", cancel: "it was ended by hand",
  time: "its time is over", store: "it keeps all the bytes it may",
};

/** What the page fetches in addition to the crawl's document. */
export class Seen {
  chart = new Chart();
  hosts = null;
  pace = null;

  constructor(id) {
    this.id = id;
  }
}

/** Returns "" while pages are being fetched. */
function noteOf({ state, ended_by: end, pending, seeding, unread }, { pace }, workers) {
  if (state === "ended") return `It has ended: ${ENDS[end] ?? end}.`;
  if (state === "paused") return "It is paused: nothing is asked, and everything is kept.";
  if (workers === 0) return "No worker crawls at present, so nothing is fetched.";
  if (pending === 0) {
    return unread > 0 ? "Workers will read its URLs in a moment."
      : seeding ? "It waits for URLs to be submitted." : "";
  }
  return pace?.resting_hosts > 0 && pace.hosts === 0 ? "All hosts with a page to fetch rest." : "";
}

function aboutOf({ settings, started_at: at, seeds }) {
  const { scope, depth, limit } = settings ?? {};
  return `since ${day(at)} · submitted: ${count(seeds)} · scope: ${scope} · depth: ${depth}` +
    (limit ? ` · at most ${count(limit)} pages` : "");
}

function showPace(crawl, seen, allowed) {
  const isOver = crawl.state === "ended";
  const until = isOver ? Date.parse(crawl.finished_at) : Date.now();
  const seconds = Math.max((until - Date.parse(crawl.started_at)) / 1_000, 1);
  const average = rate((crawl.captured + crawl.failed) / seconds);
  const { chart: { pages }, pace } = seen;
  const left = secondsLeft(crawl, pages, pace);
  const kept = ["Kept", bytes(crawl.stored_bytes)];
  fill("pace", isOver
    ? [["Pages a second", average, "on average"], ["It took", duration(seconds)], kept]
    : [["Pages a second", pages === null ? "…" : rate(pages), `${average} on average`],
      ["Politeness allows", pace ? (pace.is_least ? "≥ " : "") + rate(allowed) : "…",
        pace && `${count(pace.hosts)} hosts; ${count(pace.resting_hosts)} more rest`],
      ["Time left", left === null ? "not known" : duration(left),
        left === null ? "" : "about, if no more is found"],
      kept], makeSum);
}

function showReasons(crawl) {
  const kinds = [["failed", crawl.failures], ["refused", crawl.refused], ["left", crawl.left],
    ["link not followed", crawl.links_refused]];
  const rows = kinds.flatMap(([kind, counts]) => Object.entries(counts)
    .sort((one, other) => other[1] - one[1]).slice(0, MOST_REASONS)
    .map(([name, number]) => [spoken(name), kind, count(number)]));
  show("reasons-table", rows.length > 0);
  fill("reasons", rows, makeRow);
}

function showHosts({ state }, { hosts, pace }) {
  show("waiting", state !== "ended");
  show("hosts-table", hosts?.length > 0);
  const all = pace ? pace.hosts + pace.resting_hosts : 0;
  setText("hosts-note", !hosts ? "Asking…" : hosts.length === 0 ? "None with a page to fetch."
    : `${count(hosts.length)}${all > hosts.length ? ` of ${count(all)}` : ""}` +
      `${pace?.is_least ? " or more" : ""}, those that are due first.`);
  fill("hosts", (hosts ?? []).map((host) => [host.hostname, count(host.pending),
    state === "paused" ? "the crawl is paused" : whyItWaits(host, Date.now())]), makeRow);
}

/** Shows a crawl from its newest document. */
export function showCrawl(crawl, seen, workers) {
  const sums = { ...crawl, refused: sumOf(crawl.refused), left: sumOf(crawl.left) };
  const { pace } = seen;
  const allowed = pace && Math.min(pace.pages_per_second, pace.rate ?? Infinity);
  setText("crawl-title", crawl.name);
  setText("crawl-state", crawl.state);
  byId("crawl-state").className = `state ${crawl.state}`;
  setText("crawl-about", aboutOf(crawl));
  setText("crawl-note", noteOf(crawl, seen, workers));
  show("pause", crawl.state === "running");
  show("resume", crawl.state === "paused");
  show("cancel", crawl.state !== "ended");
  const parts = PARTS.map((name) => [name, sums[name]]);
  fill("bar", parts, ([name, number]) => {
    const part = make("i", name);
    part.style.flexGrow = number;
    return part;
  });
  byId("bar").ariaLabel = parts.map(([name, number]) => `${name}: ${count(number)}`).join(", ");
  fill("sums", ["known", ...PARTS].map((name) => [name, count(sums[name]), "", name]), makeSum);
  if (crawl.state !== "ended") {
    seen.chart.add(Date.now(), crawl.captured + crawl.failed, allowed);
  }
  show("curve", crawl.state !== "ended" || seen.chart.pages !== null);
  showPace(crawl, seen, allowed);
  seen.chart.draw(pace?.is_least);
  showReasons(crawl);
  showHosts(crawl, seen);
  show("shown", true);
}
