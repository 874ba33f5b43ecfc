/**
 * Schedules a nightly crawl of a site, and prints when each of the key's schedules is due.
 *
 *     API=http://127.0.0.1:8088 KEY=et_..._... node build/schedule.js NAME https://example.com/
 */
import { call, fail, Problem } from "./client.js";

interface Schedule {
  name: string;
  next_at: string;
  fired: number;
}

const SETTINGS = { scope: "host", depth: 3, limit: 1_000 };

/** Yields all of the key's schedules. Lists are paged, and the last page has no `next`. */
async function* schedules(): AsyncGenerator<Schedule> {
  let after = "";
  for (;;) {
    type List = { schedules: Schedule[]; next?: string };
    const page: List = await call<List>("GET", `/v1/url/schedule${after}`);
    yield* page.schedules;
    if (!page.next) return;
    after = `?after=${encodeURIComponent(page.next)}`;
  }
}

/** Adds the schedule if it does not exist, and lists all schedules. */
async function main(name: string, url: string): Promise<void> {
  try {
    // Repeating the request does not add a second schedule (client.ts: Idempotency-Key).
    const wanted = { name, urls: [url], at: "03:00", settings: SETTINGS };
    await call("POST", "/v1/url/schedule", wanted);
  } catch (error) {
    // Names are unique, so this schedule was added on another day.
    if (!(error instanceof Problem && error.code === "name_taken")) throw error;
  }
  for await (const { name, next_at, fired } of schedules()) {
    console.log(`${name}: due at ${next_at}, ${fired} crawls so far`);
  }
}

main(process.argv[2], process.argv[3]).catch(fail);
