// Owns the browser style for the other pages: the style that the wall has in this browser tab. This
// is not a module, because modules run after the first painting, so that the change would be
// visible. Does not depend on which styles there are.
"use strict";

{
  let skin = "";
  let chosen = "";
  try {
    skin = sessionStorage.getItem("skin") ?? "";
    chosen = sessionStorage.getItem("chosen-skin") ?? "";
  } catch {
    // If storage is unavailable, the page has its default style.
  }
  if (skin) document.documentElement.dataset.skin = skin;
  // Add the visitor's style to a link to the wall when it is clicked, because links may be added
  // later.
  const keep = ({ target }) => {
    const link = target.closest("a");
    const isWall = link?.origin === location.origin && link.pathname.endsWith("/");
    if (!chosen || !isWall || /[#&]skin=/.test(link.hash)) return;
    link.hash += `${link.hash ? "&" : ""}skin=${chosen}`;
  };
  // If a click uses another button than the main one, its event is "auxclick".
  for (const name of ["click", "auxclick"]) document.addEventListener(name, keep, true);
}
