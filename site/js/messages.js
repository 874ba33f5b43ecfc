// Owns the words about the state of the wall: what failed, what to do about it, where the tabs end.
// Each function returns [text, label of the button that tries again; "": no button].
// Must not know: the DOM, how tabs are loaded.

/** The message for the stream {total, trouble, skipped}, which has ended or was stopped. */
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

/** The message for a manifest that could not be read; `trouble` is that of `fetchFile`. */
export function manifestMessage(trouble) {
  const text = trouble === "network"
    ? "The network did not answer, so there are no tabs to show."
    : trouble === "missing"
      ? "No scan has been published here: manifest.json is missing."
      : "The list of tabs can't be read: manifest.json is not what it should be.";
  return [text, "Try again"];
}
