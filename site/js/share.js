// This module shares an address with the browser's share sheet, or copies it if there is none or it
// fails.

import { countShared } from "./visit-counts.js";
import { SHARE } from "./strings.js";

/** Resolves to the message for the visitor, or to "" if the share sheet was shown. */
export async function share({ title, text, url }) {
  if (navigator.share) {
    try {
      await navigator.share({ title, text, url });
      countShared();
      return "";
    } catch ({ name }) {
      // The visitor closed the share sheet.
      if (name === "AbortError") return "";
      // The browser has no target for this, or the click was too long ago.
    }
  }
  try {
    await navigator.clipboard.writeText(url);
    countShared();
    return SHARE.copied;
  } catch {
    return SHARE.notCopied(url);
  }
}
