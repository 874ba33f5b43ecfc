// Owns charts and the format of numbers: bars and lines as inline SVG.
// Invariants: values enter the document as text and lengths only; invalid values leave a chart out
// and throw nothing. Must not know: what the numbers mean.

const SVG = "http://www.w3.org/2000/svg";
const BAR_PX = 26;
const WIDTH_PX = 460;
const LABEL_PX = 170;
const AMOUNT_PX = 120;

/** Returns the number at `path` in nested objects, or 0 if there is none. */
export function numberAt(value, ...path) {
  const found = path.reduce((inside, name) => inside?.[name], value);
  return Number.isFinite(found) && found >= 0 ? found : 0;
}

/** Returns an object's [name, number] pairs, largest first; all beyond `most` become "others". */
export function largest(object, most) {
  const pairs = Object.entries(typeof object === "object" && object !== null ? object : {})
    .map(([name]) => [name.replaceAll("_", " ").slice(0, 40), numberAt(object, name)])
    .filter(([, number]) => number > 0)
    .sort((a, b) => b[1] - a[1]);
  const rest = pairs.slice(most).reduce((sum, [, number]) => sum + number, 0);
  return rest > 0 ? [...pairs.slice(0, most), ["others", rest]] : pairs;
}

/** Returns the number as English text, such as "12,345". */
export function count(number) {
  return Math.round(number).toLocaleString("en");
}

/** Returns a part of a whole, such as "12.3 %", or "" if the whole is not above 0. */
export function share(part, whole) {
  if (!(whole > 0)) return "";
  const percent = (part / whole) * 100;
  return `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
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
 * Returns a section with a bar for each [name, number] pair, or null without pairs;
 * `write(number, sum)` returns the text beside a bar.
 */
export function bars(title, pairs, write = amount) {
  if (pairs.length === 0) return null;
  const most = Math.max(...pairs.map(([, number]) => number));
  const sum = pairs.reduce((total, [, number]) => total + number, 0);
  const barsPx = WIDTH_PX - LABEL_PX - AMOUNT_PX;
  const { figure, svg } = frame(title, pairs.length * BAR_PX);
  pairs.forEach(([name, number], i) => {
    const y = i * BAR_PX;
    const width = most > 0 ? Math.max(1.5, (number / most) * barsPx) : 0;
    const baseline = y + 17;
    svg.append(
      shape("text", { x: 0, y: baseline }, cut(name)),
      shape("rect", { class: "empty", x: LABEL_PX, y: y + 5, width: barsPx, height: 16, rx: 4 }),
      shape("rect", { x: LABEL_PX, y: y + 5, width, height: 16, rx: Math.min(4, width / 2) }),
      shape(
        "text", { class: "amount", x: LABEL_PX + barsPx + 10, y: baseline }, write(number, sum),
      ),
    );
  });
  return figure;
}

/** Returns a section with a line through [name, number] points, or null for fewer than two. */
export function line(title, points) {
  if (points.length < 2) return null;
  const height = 150;
  const most = Math.max(...points.map(([, number]) => number), 1);
  const { figure, svg } = frame(title, height + 28);
  const at = ([, number], i) =>
    [12 + (i / (points.length - 1)) * (WIDTH_PX - 90), height - (number / most) * (height - 20)];
  const path = points.map((point, i) => at(point, i).map((v) => v.toFixed(1)).join(" ")).join("L");
  svg.append(shape("path", { class: "line", d: `M${path}` }));
  points.forEach((point, i) => {
    const [x, y] = at(point, i);
    svg.append(shape("circle", { cx: x, cy: y, r: 3.5 }));
    if (i === 0 || i === points.length - 1) {
      svg.append(
        shape("text", { class: "amount", x: x - 8, y: y - 10 }, count(point[1])),
        shape("text", { x: x - 8, y: height + 22 }, cut(point[0])),
      );
    }
  });
  return figure;
}

function frame(title, height) {
  const figure = document.createElement("section");
  figure.className = "chart";
  const heading = document.createElement("h2");
  heading.textContent = title;
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH_PX} ${height}`, role: "group" });
  svg.setAttribute("aria-label", title);
  figure.append(heading, svg);
  return { figure, svg };
}

function shape(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

function cut(text) {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}
