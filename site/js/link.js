// This script redirects from `t/<bundle>.html#<hostname>` to this site on the wall. Without a
// fragment, it redirects to the site that the page names. 404.html runs it too, because a later
// scan may have fewer bundles. It is not a module, because it must redirect before anything is
// shown. It replaces the history entry, so that Back skips the link.
"use strict";

{
  const hostInHash = () => {
    try {
      const text = decodeURIComponent(location.hash.slice(1));
      if (text === "" || text.length > 253 || /[/?#@:\\\s]/.test(text)) return "";
      const { hostname } = new URL(`https://${text}`);
      return /^[a-z0-9._-]{1,253}$/.test(hostname) ? hostname : "";
    } catch {
      return "";
    }
  };
  const [, root] = /^(.*\/)t\/[^/]*$/.exec(location.pathname) ?? [];
  // Undefined on 404.html, where an address without a site is not redirected.
  const named = document.documentElement.dataset.site;
  const isNamed = named !== undefined;
  // On a bundle's page, a fragment that is not a hostname leads to the wall without a site.
  const site = hostInHash() || (isNamed && location.hash.length > 1 ? "" : named);
  if (root && site !== undefined) {
    // A path may start with two slashes, which would name another server.
    const wall = location.origin + root;
    location.replace(site === "" ? wall : `${wall}#site=${encodeURIComponent(site)}`);
  }
}
