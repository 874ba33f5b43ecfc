// Owns the text about the wall's state: what failed, how to fix it, where the tabs end. Each
// function returns [text, label for the retry button; "" for no button]. Does not depend on the
// DOM, or on how tabs are loaded.

/** Returns the message for the stream {total, trouble, skipped}, which has ended or was stopped. */
export function streamMessage({ total, trouble, skipped }, isOnline) {
  if (trouble === "network") {
    const text = isOnline ? "The network did not answer." : "You are offline.";
    return [total === 0 ? `${text} No tab could be loaded.` : text, "Try again"];
  }
  if (trouble === "missing") {
    const text = "These tabs are no longer where they were. A newer scan may be out.";
    return [text, "Look for it"];
  }
  if (total === 0 && skipped.length === 0) {
    return ["No tabs here. No scan has put any yet, or all were taken down.", "Look again"];
  }
  if (skipped.length > 0) {
    const missing = skipped.length === 1 ? "One bundle" : `${skipped.length} bundles`;
    return [`${missing} of tabs could not be read.`, "Try again"];
  }
  return [`That was every tab: ${total.toLocaleString("en")}.`, ""];
}

/** Returns the message for an unreadable manifest; `trouble` is from `fetchFile`. */
export function manifestMessage(trouble) {
  const text = trouble === "network"
    ? "The network did not answer, so there are no tabs to show."
    : trouble === "missing"
      ? "No scan has been published here: manifest.json is missing."
      : "The list of tabs can't be read: manifest.json is not what it should be.";
  return [text, "Try again"];
}
