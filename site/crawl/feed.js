// This module shows a crawl's feed: the newest rows, then further ones by long polling.

import { byId, make, makeRow, setText, show } from "./document.js";
import { bytes, clock, count, spoken } from "./words.js";

const MAX_ROWS = 200;
const FIRST_ROWS = 100;
const PAGE_ROWS = 1_000;
const WAIT_S = 30;
const PAUSE_MS = 1_000;

/** A failed fetch shows the page on which the URL was found. */
function noteOf({ state, title, redirect, via, certificate }) {
  const said = title ?? (redirect ? `leads to ${redirect}`
    : via && state !== "captured" ? `found at ${via}` : "");
  const fault = certificate ? `certificate: ${spoken(certificate)}` : "";
  return [said, fault].filter(Boolean).join(" · ");
}

const rowOf = (fetch) => makeRow([
  fetch.at ? clock(fetch.at) : "",
  make("span", `state ${fetch.state}`, spoken(fetch.outcome ?? fetch.state)),
  make("div", "", make("span", "text", fetch.url ?? ""), make("span", "text soft", noteOf(fetch))),
  fetch.bytes > 0 ? bytes(fetch.bytes) : "",
  fetch.duration_ms === undefined ? "" : `${count(fetch.duration_ms)} ms`,
]);

/** The last fetch is the newest. */
function addRows(fetches) {
  const body = byId("feed");
  body.prepend(...fetches.slice(-MAX_ROWS).reverse().map(rowOf));
  while (body.rows.length > MAX_ROWS) body.lastChild.remove();
}

/** Shows a crawl's feed until the signal aborts it. */
export function showFeed(service, id, signal) {
  let query = `newest=${FIRST_ROWS}`;
  byId("feed").replaceChildren();
  setText("feed-note", "Asking…");
  return service.repeat(PAUSE_MS, signal, async () => {
    const page = await service.ask(`/v1/crawls/${id}/feed?${query}`, { signal });
    query = `limit=${PAGE_ROWS}&wait=${WAIT_S}&after=${page.next}`;
    addRows(page.fetches);
    const { length } = byId("feed").rows;
    show("feed-table", length > 0);
    setText("feed-note", length > 0 ? `The newest ${count(length)}, the newest first.`
      : page.crawl_state === "ended" ? "Nothing was fetched." : "Nothing was fetched yet.");
    return page.has_more || page.crawl_state !== "ended";
  });
}
