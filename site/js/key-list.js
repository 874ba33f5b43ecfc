// This module shows the list of keys.

import { button, textElement } from "./elements.js";
import { KEYS } from "./strings.js";

const TITLE_ID = "keys-title";

let dialog = null;

/** Shows the list. Escape and its button close it. */
export function showKeys() {
  dialog ??= newDialog();
  if (!dialog.open) dialog.showModal();
}

function newDialog() {
  const element = document.createElement("dialog");
  element.className = "question key-list";
  element.setAttribute("aria-labelledby", TITLE_ID);
  const title = textElement("h2", KEYS.title);
  title.id = TITLE_ID;
  title.tabIndex = -1;
  // Otherwise the button below the list would get the focus, and a low window would scroll.
  title.autofocus = true;
  const list = document.createElement("dl");
  for (const [keys, use] of KEYS.list) {
    const names = document.createElement("dt");
    names.append(...keys.map((key) => textElement("kbd", key)));
    list.append(names, textElement("dd", use));
  }
  const buttons = textElement("div", "");
  buttons.append(button(KEYS.close, () => element.close()));
  element.append(title, list, buttons);
  document.body.append(element);
  return element;
}
