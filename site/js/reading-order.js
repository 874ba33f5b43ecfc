// Owns the rows' order in the document, in which screen readers read them and a search in the page
// finds them: the order on screen, while nothing scrolls. Does not depend on what a row holds, or
// on when rows move.

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
