// Owns the addresses that a visitor shares: each bundle has a static page, `t/<bundle>.html`, whose
// preview messengers read, and which leads into this page. Does not depend on who shares.

/** Returns the address to share for a site in this bundle, an ASCII `hostname`. */
export function siteAddress(bundle, hostname) {
  return absolute(`t/${bundle}.html#${hostname}`);
}

/** Returns the address to share for all of a bundle's tabs. */
export function groupAddress(bundle) {
  return absolute(`t/${bundle}.html`);
}

function absolute(path) {
  return new URL(path, document.baseURI).href;
}
