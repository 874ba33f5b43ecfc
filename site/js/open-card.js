// Owns loading the cards and bars that visitors share. They are loaded when the first one is
// needed. Does not depend on what they show.

import { SHARE } from "./strings.js";

/**
 * Shows the card of a site: `scene` is the argument of `showSiteCard` in site-card.js. `onTrouble`
 * is called with a message if the card cannot be loaded.
 */
export async function openSiteCard(scene, onTrouble) {
  try {
    const [{ showSiteCard }] =
      await Promise.all([import("./site-card.js"), import("./card-style.js")]);
    showSiteCard(scene);
  } catch {
    onTrouble(SHARE.unavailable);
  }
}

/** Shows the summary of the visit: `visit` is the argument of `showVisit` in visit-summary.js. */
export async function openVisit(visit, onTrouble) {
  try {
    const [{ showVisit }] =
      await Promise.all([import("./visit-summary.js"), import("./card-style.js")]);
    showVisit(visit);
  } catch {
    onTrouble(SHARE.unavailable);
  }
}

/**
 * Resolves to a new ShareBar in `parent`; null if it cannot be loaded. `onHidden` is the argument
 * of its constructor.
 */
export async function newShareBar(parent, onHidden) {
  try {
    const [{ ShareBar }] =
      await Promise.all([import("./share-bar.js"), import("./card-style.js")]);
    return new ShareBar(parent, onHidden);
  } catch {
    return null;
  }
}

/** Shares {title, text, url}. Resolves to the message for the visitor, or "". */
export async function shareNow(what) {
  try {
    const { share } = await import("./share.js");
    return await share(what);
  } catch {
    return SHARE.unavailable;
  }
}
