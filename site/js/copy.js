// This script shows the buttons that copy the lines next to them. Without it, one click selects the
// lines (see css/pages.css).

import { BOT, COMMON } from "./strings.js";

const MESSAGE_MS = 2_000;

for (const button of document.querySelectorAll("[data-copies]")) {
  const lines = document.getElementById(button.dataset.copies);
  const message = button.nextElementSibling;
  let timer = 0;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(`${lines.textContent}\n`);
      message.textContent = COMMON.copied;
    } catch {
      message.textContent = BOT.notCopied;
    }
    clearTimeout(timer);
    timer = setTimeout(() => {
      message.textContent = "";
    }, MESSAGE_MS);
  });
}
