// Owns the text about the wall's state: what failed, how to fix it, where the tabs end. Each
// function returns [text, label], where `label` is the retry button's, or "" for no button. Does
// not depend on the DOM, or on how tabs are loaded.

import { COMMON, WALL } from "./strings.js";

/** Returns the message for the stream {total, trouble, skipped}, which has ended or was stopped. */
export function streamMessage({ total, trouble, skipped }, isOnline) {
  if (trouble === "network") {
    const why = WALL.offline(isOnline);
    return [total === 0 ? WALL.noTabLoaded(why) : why, COMMON.retry];
  }
  if (trouble === "missing") return [WALL.moved, COMMON.refresh];
  if (total === 0 && skipped.length === 0) return [WALL.noTabs, COMMON.refresh];
  if (skipped.length > 0) return [WALL.unreadable(skipped.length), COMMON.retry];
  return [WALL.end(total), ""];
}

/** Returns the message for an unreadable manifest; `trouble` is from `fetchFile`. */
export function manifestMessage(trouble) {
  const text = trouble === "network" ? WALL.noManifest
    : trouble === "missing" ? WALL.noScan : WALL.damaged;
  return [text, COMMON.retry];
}
