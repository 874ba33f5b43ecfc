// Owns the rows' order in the document, which screen readers and the browser's search use. It is
// the order on screen, and is updated only while nothing scrolls. Does not depend on what a row
// contains, or on when rows move.

/**
 * Puts the wall's painted rows in the document in their order on the screen. The browser lays out
 * each moved node again, so call this when nothing scrolls.
 */
export function orderRows({ container, rows }) {
  const focused = document.activeElement;
  // moveBefore keeps focus and animations; older browsers lack it.
  const move = container.moveBefore ?? container.insertBefore;
  let here = container.firstChild;
  for (const { node } of rows) {
    if (node === here) here = here.nextSibling;
    else move.call(container, node, here);
  }
  if (focused !== document.activeElement) focused.focus({ preventScroll: true });
}
