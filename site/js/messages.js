// This module composes the text about the wall's state. Each function returns [text, label], where
// `label` is the retry button's, or "" for no button.

import { COMMON, WALL } from "./strings.js";

/** Describes the state of a stream that has ended or was stopped by a failure. */
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

/** `trouble` is from `fetchFile`, or undefined if the file was read but is invalid. */
export function manifestMessage(trouble) {
  const text = trouble === "network" ? WALL.noManifest
    : trouble === "missing" ? WALL.noScan : WALL.damaged;
  return [text, COMMON.retry];
}
