// Owns the browser style for the other pages: the one that the wall has in this browser tab. This
// is not a module: modules run after the first painting, so the change would be visible. Does not
// depend on which styles there are.
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
  // A link to the wall keeps the visitor's style, even if the link is added later.
  const keep = ({ target }) => {
    const link = target.closest("a");
    const isWall = link?.origin === location.origin && link.pathname.endsWith("/");
    if (!chosen || !isWall || /[#&]skin=/.test(link.hash)) return;
    link.hash += `${link.hash ? "&" : ""}skin=${chosen}`;
  };
  // A click with another button than the first is an "auxclick".
  for (const name of ["click", "auxclick"]) document.addEventListener(name, keep, true);
}
