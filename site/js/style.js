// Owns loading css/interaction.css, the style for elements that js/interaction.js adds. It is
// fetched in parallel with this module, and elements are shown only after it. Does not depend on
// who needs the style.

/** We wait at most this long, because the wall must react. */
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
