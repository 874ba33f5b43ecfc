// Owns loading css/card.css, the style for the cards that visitors share. Importing this module
// waits until the style has loaded or failed, but not forever. Does not depend on who needs the
// style.

/** Maximum waiting time, because a card must appear even without the style. */
const PATIENCE_MS = 2_000;

const link = Object.assign(document.createElement("link"), {
  rel: "stylesheet", href: "css/card.css",
});
await new Promise((done) => {
  link.addEventListener("load", done);
  link.addEventListener("error", done);
  setTimeout(done, PATIENCE_MS);
  document.head.append(link);
});
