/**
 * Crawls a site, and prints a line for each URL as soon as it is fetched.
 *
 *     API=http://127.0.0.1:8088 KEY=et_..._... node build/crawl.js https://example.com/ STATE
 *
 * The file STATE stores the crawl and its cursor, so that the same command continues there after an
 * interruption. At the end the file is removed.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { call, fail } from "./client.js";

interface State {
  crawl: string;
  after?: string;
}
interface Feed {
  fetches: { url: string; state: string; outcome?: string; reason?: string }[];
  next: string;
  has_more: boolean;
  crawl_state: "running" | "paused" | "ended";
}
interface Crawl {
  id: string;
  state: string;
  ended_by?: string;
  known: number;
  captured: number;
  failed: number;
}

const SETTINGS = { scope: "host", depth: 3, limit: 40, delay_ms: 250 };

/** Replaces the whole file, so that an interruption leaves the old one. */
function save(file: string, state: State): void {
  writeFileSync(`${file}.new`, JSON.stringify(state));
  renameSync(`${file}.new`, file);
}

/** Starts or continues the crawl, and follows its feed to the end. */
async function main(site: string, file: string): Promise<void> {
  if (!existsSync(file)) {
    const wanted = { urls: [site], settings: SETTINGS };
    save(file, { crawl: (await call<Crawl>("POST", "/v1/crawls", wanted)).id });
  }
  const state: State = JSON.parse(readFileSync(file, "utf8"));
  const path = `/v1/crawls/${state.crawl}`;
  let feed: Feed;
  do {
    // Wait up to half a minute for the next URLs.
    const query = new URLSearchParams({ wait: "30" });
    if (state.after) query.set("after", state.after);
    feed = await call<Feed>("GET", `${path}/feed?${query}`);
    for (const fetched of feed.fetches) {
      console.log(fetched.state, fetched.outcome ?? fetched.reason, fetched.url);
    }
    // Store the cursor after the work that it confirms: an interruption in between repeats a page
    // of the feed, and loses none. A database can store both in one transaction.
    state.after = feed.next;
    save(file, state);
  } while (feed.crawl_state !== "ended" || feed.has_more);
  const crawl = await call<Crawl>("GET", path);
  const { captured, failed, known } = crawl;
  const ended = `${crawl.state} (${crawl.ended_by})`;
  console.error(`${ended}: ${captured} captured, ${failed} failed, ${known} known`);
  rmSync(file);
}

main(process.argv[2], process.argv[3]).catch(fail);
