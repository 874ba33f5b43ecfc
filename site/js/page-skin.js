// Owns the browser style of the pages beside the wall: the one that the wall has in this tab of the
// browser. It is no module: modules run after the first painting, which would show the change.
// Must not know: which styles there are.
"use strict";

{
  let skin = "";
  let chosen = "";
  try {
    skin = sessionStorage.getItem("skin") ?? "";
    chosen = sessionStorage.getItem("chosen-skin") ?? "";
  } catch {
    // A browser without storage: the page has the usual style.
  }
  if (skin) document.documentElement.dataset.skin = skin;
  // A link to the wall keeps the style that the visitor chose, also one that comes later.
  const keep = ({ target }) => {
    const link = target.closest("a");
    const isWall = link?.origin === location.origin && link.pathname.endsWith("/");
    if (!chosen || !isWall || /[#&]skin=/.test(link.hash)) return;
    link.hash += `${link.hash ? "&" : ""}skin=${chosen}`;
  };
  // A click with another button than the first is an "auxclick".
  for (const name of ["click", "auxclick"]) document.addEventListener(name, keep, true);
}
