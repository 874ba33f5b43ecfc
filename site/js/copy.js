// Owns the buttons that copy the lines they stand beside. Without this script they stay hidden, and
// the lines can still be marked by one click. Must not know: what the lines say.

const SAID_MS = 2_000;

for (const button of document.querySelectorAll("[data-copies]")) {
  const lines = document.getElementById(button.dataset.copies);
  const said = button.nextElementSibling;
  let timer = 0;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(`${lines.textContent}\n`);
      said.textContent = "Copied";
    } catch {
      said.textContent = "Not copied: mark the lines instead";
    }
    clearTimeout(timer);
    timer = setTimeout(() => {
      said.textContent = "";
    }, SAID_MS);
  });
}
