// This module shows the summary of a visit, which can be shared with the wall's address, and saved
// as a picture.

import { textElement } from "./elements.js";
import { depthText, seenText } from "./seen-tabs.js";
import { ShareDialog } from "./share-dialog.js";
import { VISIT } from "./strings.js";
import { visitCounts } from "./visit-counts.js";

let dialog = null;

/**
 * `hosts` is the number of all tabs, or 0 if it is unknown, and `closed` the number of closed ones.
 * `seen` is the SeenTabs, or null if the visitor switched the count off. `depthPx` is how far down
 * the view is, and `url` is the wall's address. When the card closes, `returnTo` gets the focus if
 * the element that had it before is gone.
 */
export function showVisit({ hosts, closed, seen, depthPx, icons, url, returnTo }) {
  dialog ??= new ShareDialog("visit-summary");
  const { parts, rest } = headlineOf(hosts, closed, seen?.count ?? 0);
  const facts = factsOf(hosts, closed, seen, depthPx);
  const [before, digits, after] = parts;
  dialog.heading.replaceChildren(`${before} `, textElement("b", digits), ` ${after}`);
  const words = document.createElement("div");
  words.className = "card-words";
  words.append(dialog.heading);
  if (rest) {
    const paragraph = textElement("p", rest);
    paragraph.className = "card-rest";
    words.append(paragraph);
  }
  const list = document.createElement("ul");
  list.className = "card-facts";
  const { shared } = visitCounts();
  const shown = shared > 0 ? [...facts, VISIT.shared(shared)] : facts;
  list.append(...shown.map((fact) => textElement("li", fact)));
  if (shown.length > 0) words.append(list);
  const sentence = `${parts.join(" ")}.`;
  const text = rest ? `${sentence} ${rest}` : sentence;
  const near = icons.slice(0, 4).map((icon) => ({ icon, name: "", isActive: false }));
  const content = {
    tabs: [...near.slice(0, 2), { icon: "", name: VISIT.page, isActive: true }, ...near.slice(2)],
    icons,
    letter: "",
    lines: [
      { text: before, sizes: [40] },
      { text: digits, sizes: [104, 88, 72], isBold: true },
      { text: rest ? `${after}. ${rest}` : after, sizes: [40, 36, 32, 28, 24] },
      ...facts.map((fact, at) =>
        ({ text: fact, sizes: [26, 24, 22], gapPx: at === 0 ? 16 : 0, isSoft: true })),
    ],
  };
  dialog.what = { title: VISIT.page, text, url };
  dialog.picture = { name: "everytab-visit.png", content };
  dialog.show([mosaicOf(icons), words], returnTo);
}

/**
 * Returns {parts, rest}. The headline counts closed tabs if there are any, otherwise seen tabs,
 * otherwise all tabs. `parts` are the text before the number, the number, and the text after it.
 * `rest` is a sentence, or "".
 */
function headlineOf(hosts, closed, seen) {
  const done = closed > 0 ? closed : seen;
  if (done === 0) return { parts: VISIT.all(hosts), rest: "" };
  const rest = hosts === 0 ? "" : hosts > done ? VISIT.toGo(hosts - done) : VISIT.none;
  return { parts: closed > 0 ? VISIT.closed(closed) : VISIT.seen(seen), rest };
}

/** Omits numbers that are 0 or unknown. */
function factsOf(hosts, closed, seen, depthPx) {
  const { found, opened } = visitCounts();
  return [
    seen && closed > 0 && seen.count > 0 && seenText(seen, hosts),
    found.length > 0 && VISIT.found(found.length),
    opened.length > 0 && VISIT.opened(opened.length),
    seen && depthText(seen.heights, depthPx),
  ].filter(Boolean);
}

function mosaicOf(icons) {
  const box = document.createElement("div");
  box.className = "card-portrait mosaic";
  box.ariaHidden = "true";
  box.append(...icons.map((icon) => {
    const image = new Image(32, 32);
    image.alt = "";
    image.src = icon;
    return image;
  }));
  return box;
}
