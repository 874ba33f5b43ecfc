// This module compares fetched pages per second with the rate that politeness allows, over the last
// ten minutes.

import { byId, fill, makeRow, setText } from "./document.js";
import { clock, duration, rate } from "./words.js";

const KEPT_MS = 600_000;
/** Workers record in bursts, up to half a minute apart. */
const WINDOW_MS = 60_000;
/** Over a shorter time span, the rate would be too inaccurate. */
const LEAST_MS = 5_000;
const [WIDTH, HEIGHT] = [600, 150];
/**
 * Beyond this factor the chart is scaled to the fetched rate, because otherwise its line would be
 * flat at the bottom.
 */
const FAR = 5;
const TABLE_ROWS = 20;

function line(className, d) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const attributes = { class: className, d, "vector-effect": "non-scaling-stroke" };
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export class Chart {
  #samples = [];

  /** `at` is in milliseconds, `fetched` a total, `allowed` per second, or null. */
  add(at, fetched, allowed) {
    if (fetched < this.#samples.at(-1)?.fetched) this.#samples = [];
    this.#samples = this.#samples.filter((sample) => at - sample.at <= KEPT_MS);
    const first = this.#samples.find((sample) => at - sample.at <= WINDOW_MS);
    const isEnough = first && at - first.at >= LEAST_MS;
    const pages = isEnough ? (fetched - first.fetched) / (at - first.at) * 1_000 : null;
    this.#samples.push({ at, fetched, allowed, pages });
  }

  /** Per second, or null if the samples cover too little time. */
  get pages() {
    return this.#samples.at(-1)?.pages ?? null;
  }

  draw(isLeast) {
    const points = this.#samples.filter(({ pages }) => pages !== null);
    const last = points.at(-1);
    const most = (name) => Math.max(0.01, ...points.map((point) => point[name] ?? 0));
    const isFar = most("pages") > 0.01 && most("allowed") > FAR * most("pages");
    const top = 1.1 * (isFar ? most("pages") : Math.max(most("pages"), most("allowed")));
    const span = Math.max(WINDOW_MS, last?.at - points[0]?.at || 0);
    const path = (name) => points
      .filter((point) => point[name] !== null && point[name] <= top)
      .map((point) => `${(WIDTH - (last.at - point.at) / span * WIDTH).toFixed(1)} ` +
        `${(HEIGHT - point[name] / top * HEIGHT).toFixed(1)}`).join("L");
    const pages = path("pages");
    const closed = pages && `M${pages}V${HEIGHT}H${pages.split(" ")[0]}Z`;
    byId("chart").replaceChildren(line("area", closed),
      ...["allowed", "pages"].map((name) => line(name, path(name) && `M${path(name)}`)));
    setText("chart-title", last ? `Pages a second, up to ${rate(top)}, over ` +
      duration(span / 1_000) : "Pages a second");
    const said = (number) => number === null ? "not known" : `${rate(number)} a second`;
    setText("chart-pages", last ? `Fetched: ${said(last.pages)}` : "Being measured…");
    setText("chart-allowed", !last ? "" : `Politeness allows: ${isLeast ? "at least " : ""}` +
      said(last.allowed) + (isFar && last.allowed > top ? " (above the curve)" : ""));
    const step = Math.ceil(points.length / TABLE_ROWS);
    const rows = points.reverse().filter((_, number) => number % step === 0);
    fill("chart-rows", rows.map((point) => [clock(point.at), rate(point.pages),
      point.allowed === null ? "–" : rate(point.allowed)]), makeRow);
  }
}
