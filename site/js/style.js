// Owns loading css/interaction.css, the style of what js/interaction.js adds: it is fetched beside
// that module, and what has no style is not shown before it. Must not know: who needs the style.

/** What takes longer is not waited for: the wall must react. */
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
