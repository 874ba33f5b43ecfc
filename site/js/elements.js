// Owns how elements with a text are made: paragraphs, headings, buttons.
// Must not know: where they are put, what a button does.

/** Returns a new element `name` with this text. */
export function textElement(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

/** Returns a new button with this text; `onClick` is called when it is pressed. */
export function button(text, onClick) {
  const element = textElement("button", text);
  element.type = "button";
  element.addEventListener("click", onClick);
  return element;
}
