// This module creates elements with text.

/** Returns a new element. */
export function textElement(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

/** Returns a new button. `onClick` is called when it is pressed. */
export function button(text, onClick) {
  const element = textElement("button", text);
  element.type = "button";
  element.addEventListener("click", onClick);
  return element;
}

/** Returns the close button (×) for a card or a bar. */
export function closeButton(label, onClick) {
  const element = button("×", onClick);
  element.className = "card-close";
  element.ariaLabel = label;
  return element;
}
