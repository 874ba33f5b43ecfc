// Owns how elements with text are created: paragraphs, headings, buttons. Does not depend on where
// they are inserted, or on what a button does.

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
