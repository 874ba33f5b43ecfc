// Checks the addresses that visitors share.

import assert from "node:assert/strict";
import test from "node:test";
import { groupAddress, siteAddress } from "../js/share-address.js";

test("an address names the bundle's page and the site, below the page's own folder", () => {
  for (const [base, folder] of [
    ["https://everytab.example/", "https://everytab.example/"],
    ["https://everytab.example/map.html", "https://everytab.example/"],
    ["https://everytab.example/#seed=7&tab=20", "https://everytab.example/"],
    ["http://127.0.0.1:8000/sub/index.html", "http://127.0.0.1:8000/sub/"],
  ]) {
    globalThis.document = { baseURI: base };
    assert.equal(siteAddress(7, "www.example.com"), `${folder}t/7.html#www.example.com`);
    assert.equal(siteAddress(0, "xn--bcher-kva.de"), `${folder}t/0.html#xn--bcher-kva.de`);
    assert.equal(groupAddress(249_999), `${folder}t/249999.html`);
  }
  delete globalThis.document;
});
