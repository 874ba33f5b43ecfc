// This module inserts values into the document as text, never as markup. Unchanged values are not
// written again, so that nothing is repainted or announced again.

export const byId = (id) => document.getElementById(id);

/** Creates an element with a class name and content, which consists of strings and elements. */
export function make(name, className = "", ...content) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...content);
  return element;
}

export function setText(id, text, isBad = false) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
  element.classList.toggle("bad", isBad);
}

export function show(id, isShown) {
  byId(id).hidden = !isShown;
}

/** `makeOne` makes a node from each value. */
export function fill(id, values, makeOne) {
  const element = byId(id);
  const state = JSON.stringify(values);
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  element.replaceChildren(...values.map(makeOne));
}

/** Returns a table row. */
export const makeRow = (cells) => make("tr", "", ...cells.map((cell) => make("td", "", cell)));

/** Returns an entry in a list of numbers: [name, number, text below, class]. */
export const makeSum = ([name, number, below, className]) => make("div", className,
  make("dt", "", name), make("dd", "", number), ...(below ? [make("dd", "soft", below)] : []));
