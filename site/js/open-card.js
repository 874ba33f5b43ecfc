// This module loads the cards and bars that visitors share, when the first one is needed.

import { SHARE } from "./strings.js";

/**
 * Loads a module and the cards' style, and resolves to the result of `use(module)`. If this fails,
 * it calls `notify` with a message and resolves to null. An earlier message is removed first.
 */
async function withModule(load, use, notify) {
  notify("");
  try {
    const [module] = await Promise.all([load(), import("./card-style.js")]);
    return use(module);
  } catch {
    notify(SHARE.unavailable);
    return null;
  }
}

/** `scene` is the argument of `showSiteCard` in site-card.js. */
export function openSiteCard(scene, notify) {
  return withModule(() => import("./site-card.js"), ({ showSiteCard }) => showSiteCard(scene),
    notify);
}

/** `visit` is the argument of `showVisit` in visit-summary.js. */
export function openVisit(visit, notify) {
  return withModule(() => import("./visit-summary.js"), ({ showVisit }) => showVisit(visit),
    notify);
}

/** Resolves to a new ShareBar, or to null if it cannot be loaded. */
export function newShareBar(parent, onHidden) {
  return withModule(() => import("./share-bar.js"), ({ ShareBar }) =>
    new ShareBar(parent, onHidden), () => {});
}

/**
 * Shares `what`, the argument of `share`, and calls `say` with the message for the visitor, or with
 * "".
 */
export async function shareNow(what, say) {
  try {
    const { share } = await import("./share.js");
    say(await share(what));
  } catch {
    say(SHARE.unavailable);
  }
}
