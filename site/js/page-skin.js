// This script gives the other pages the style that the wall has in this browser tab. It is not a
// module, because modules may run after the first paint, so that the change would be visible.
"use strict";

{
  let skin = "";
  let chosen = "";
  try {
    skin = sessionStorage.getItem("skin") ?? "";
    chosen = sessionStorage.getItem("chosen-skin") ?? "";
  } catch {
    // Without storage, the page has its default style.
  }
  if (skin) document.documentElement.dataset.skin = skin;
  // Links may be added later, so this changes a link when it is clicked.
  const keep = ({ target }) => {
    const link = target.closest("a");
    const isWall = link?.origin === location.origin && link.pathname.endsWith("/");
    if (!chosen || !isWall || /[#&]skin=/.test(link.hash)) return;
    link.hash += `${link.hash ? "&" : ""}skin=${chosen}`;
  };
  // A click by another button than the main one is an "auxclick".
  for (const name of ["click", "auxclick"]) document.addEventListener(name, keep, true);
}
