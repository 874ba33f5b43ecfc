// This module composes the addresses that a visitor shares. Each bundle has a static page,
// `t/<bundle>.html`, which has a preview for messengers and redirects to the wall.

/** Returns the address of one site. `hostname` is in ASCII. */
export function siteAddress(bundle, hostname) {
  return absolute(`t/${bundle}.html#${hostname}`);
}

/** Returns the address for all of a bundle's tabs. */
export function groupAddress(bundle) {
  return absolute(`t/${bundle}.html`);
}

function absolute(path) {
  return new URL(path, document.baseURI).href;
}
