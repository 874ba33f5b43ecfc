// Owns loading css/interaction.css, the style for elements that js/interaction.js adds. Importing
// this module waits until the style has loaded or failed, but not forever. Does not depend on who
// needs the style.

/** Maximum waiting time, because the wall must react even without the style. */
const PATIENCE_MS = 2_000;

const link = Object.assign(document.createElement("link"), {
  rel: "stylesheet", href: "css/interaction.css",
});
await new Promise((done) => {
  link.addEventListener("load", done);
  link.addEventListener("error", done);
  setTimeout(done, PATIENCE_MS);
  document.head.append(link);
});
