// This module shows the installation: workers, slots, scans with their stages.

import { fill, make, makeRow, setText } from "./document.js";
import { count, day, duration, rate, spoken } from "./words.js";

/** `now` is in milliseconds. */
function stageCells(stage, now) {
  const { kind, done, discarded, outstanding } = stage;
  const [ended, all] = [done + discarded, done + discarded + outstanding];
  const until = stage.finished_at ? Date.parse(stage.finished_at) : now;
  const seconds = (until - Date.parse(stage.started_at)) / 1_000;
  const perSecond = ended > 0 && seconds > 0 ? ended / seconds : 0;
  const bar = document.createElement("progress");
  Object.assign(bar, { max: Math.max(all, 1), value: ended, ariaLabel: spoken(kind) });
  const time = stage.finished_at ? `took ${duration(seconds)}` : stage.is_paused ? "paused"
    : perSecond && outstanding > 0 ? `about ${duration(outstanding / perSecond)} left` : "waits";
  return [kind, bar, `${count(ended)} of ${count(all)}`,
    perSecond ? `${rate(perSecond)}/s` : "–", time, count(discarded)];
}

function makeScan([scan, now]) {
  const state = make("span", `state ${scan.state}`, spoken(scan.state));
  const heads = ["Stage", "Progress", "Jobs", "Rate", "Time", "Given up"].map((name) =>
    Object.assign(make("th", "", name), { scope: "col" }));
  const rows = scan.stages.map((stage) => makeRow(stageCells(stage, Date.parse(now))));
  const table = make("div", "scroll", make("table", "", make("thead", "",
    make("tr", "", ...heads)), make("tbody", "", ...rows)));
  Object.assign(table, { tabIndex: 0, role: "region", ariaLabel: `Stages of ${scan.crawl}` });
  const errors = Object.entries(scan.errors).map(([name, number]) => `${name} ${count(number)}`);
  return make("article", "", make("h3", "", `Scan of ${scan.crawl} `, state),
    make("p", "soft", `Since ${day(scan.started_at)}. Workers at it: ${count(scan.workers)}. ` +
      `Errors in the last five minutes: ${errors.join(", ") || "none"}.`), table);
}

/** Shows the overview. */
export function showOverview({ now, scans, slots, held_slots: held, live_workers: workers }) {
  setText("workers", `Workers that crawl: ${count(workers)}. They hold ${count(held)} of ` +
    `${count(slots)} slots of the web.`);
  fill("scans", scans.map((scan) => [scan, scan.finished_at ? "" : now]), makeScan);
}
