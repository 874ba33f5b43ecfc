// This module draws charts and formats numbers. Values enter the document only as text and lengths,
// because the files are untrusted.

import { count as formatted } from "./strings.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH_PX = 460;
const HEIGHT_PX = 150;
const DOT_PX = 3.5;

/** Returns the number at `path` in nested objects, or 0 if it is missing, negative or invalid. */
export function numberAt(value, ...path) {
  const found = path.reduce((inside, name) => inside?.[name], value);
  return Number.isFinite(found) && found >= 0 ? found : 0;
}

/**
 * Returns an object's [name, number] pairs with positive numbers, largest first. All pairs after
 * the first `most` are summed up as "others".
 */
export function largest(object, most) {
  const pairs = Object.entries(typeof object === "object" && object !== null ? object : {})
    .map(([name]) => [name.replaceAll("_", " ").slice(0, 40), numberAt(object, name)])
    .filter(([, number]) => number > 0)
    .sort((a, b) => b[1] - a[1]);
  const rest = pairs.slice(most).reduce((sum, [, number]) => sum + number, 0);
  return rest > 0 ? [...pairs.slice(0, most), ["others", rest]] : pairs;
}

/** Returns the rounded number as English text, such as "12,345". */
export function count(number) {
  return formatted(Math.round(number));
}

/** Returns a percentage such as "12%" or "1.2%", or "" if the whole is not above 0. */
export function share(part, whole) {
  if (!(whole > 0)) return "";
  const percent = (part / whole) * 100;
  return `${percent.toFixed(percent < 10 ? 1 : 0)}%`;
}

/** Returns seconds as "3 h 20 min", "4 min 5 s" or "0.8 s". */
export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

const amount = (number, sum) => `${count(number)} · ${share(number, sum)}`;

/**
 * Returns a section with a bar for each [name, number] pair, or null if there are no pairs.
 * `write(number, sum)` returns the text next to a bar.
 */
export function bars(title, pairs, write = amount) {
  if (pairs.length === 0) return null;
  const most = Math.max(...pairs.map(([, number]) => number));
  const sum = pairs.reduce((total, [, number]) => total + number, 0);
  const list = element("ul", "bars");
  for (const [name, number] of pairs) {
    const item = element("li");
    const bar = element("span", "gauge");
    const filled = element("span", "filled");
    filled.style.width = `${most > 0 ? Math.max(0.5, (number / most) * 100) : 0}%`;
    bar.append(filled);
    item.append(element("span", "name", name), bar, element("span", "amount", write(number, sum)));
    list.append(item);
  }
  return section(title, list);
}

/** Returns a section with a line through [name, number] points, or null for fewer than two. */
export function line(title, points) {
  if (points.length < 2) return null;
  const most = Math.max(...points.map(([, number]) => number), 1);
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH_PX} ${HEIGHT_PX}`, "aria-hidden": "true" });
  const at = ([, number], i) => [
    DOT_PX + (i / (points.length - 1)) * (WIDTH_PX - 2 * DOT_PX),
    HEIGHT_PX - DOT_PX - (number / most) * (HEIGHT_PX - 2 * DOT_PX),
  ];
  const path = points.map((point, i) => at(point, i).map((v) => v.toFixed(1)).join(" ")).join("L");
  svg.append(shape("path", { class: "line", d: `M${path}` }));
  points.forEach((point, i) => {
    const [x, y] = at(point, i);
    svg.append(shape("circle", { cx: x, cy: y, r: DOT_PX }));
  });
  // The text is outside the drawing, where it would be too small to read on a phone.
  const ends = element("p", "ends");
  for (const [name, number] of [points[0], points.at(-1)]) {
    const end = element("span", "", name);
    end.append(element("span", "amount", count(number)));
    ends.append(end);
  }
  return section(title, svg, ends);
}

function section(title, ...content) {
  const one = element("section", "chart");
  one.append(element("h2", "", title), ...content);
  return one;
}

function element(name, className = "", text = "") {
  const one = document.createElement(name);
  if (className) one.className = className;
  one.textContent = text;
  return one;
}

function shape(name, attributes) {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, String(value));
  return one;
}
