// Owns how values enter the document: as text, never as markup.
// Invariant: what did not change is not written, so nothing is drawn or announced anew.

export const byId = (id) => document.getElementById(id);

/** An element with a class and content: texts and elements. */
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

/** Replaces what is in an element by what is made of the values, where these differ. */
export function fill(id, values, makeOne) {
  const element = byId(id);
  const state = JSON.stringify(values);
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  element.replaceChildren(...values.map(makeOne));
}

/** A row of a table. */
export const makeRow = (cells) => make("tr", "", ...cells.map((cell) => make("td", "", cell)));

/** An entry of a list of numbers: [name, number, what is said below, class]. */
export const makeSum = ([name, number, below, className]) => make("div", className,
  make("dt", "", name), make("dd", "", number), ...(below ? [make("dd", "soft", below)] : []));
