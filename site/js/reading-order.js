// This module keeps the rows' order in the document like the one on screen, because screen readers
// and the browser's search use it.

/** Call this when nothing scrolls, because the browser lays out each moved node again. */
export function orderRows({ container, rows }) {
  const focused = document.activeElement;
  // moveBefore keeps focus and animations, but older browsers lack it.
  const move = container.moveBefore ?? container.insertBefore;
  let here = container.firstChild;
  for (const { node } of rows) {
    if (node === here) here = here.nextSibling;
    else move.call(container, node, here);
  }
  if (focused !== document.activeElement) focused.focus({ preventScroll: true });
}
