// This module loads css/card.css. Importing it waits until the style has loaded or failed, for up
// to two seconds, because a card must appear even without its style.

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
