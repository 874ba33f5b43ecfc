/**
 * Captures a page, and prints it as Markdown.
 *
 *     API=http://127.0.0.1:8088 KEY=et_..._... node build/page.js https://example.com/
 */
import { call, fail } from "./client.js";

interface Page {
  id: string;
  state: "due" | "captured" | "failed" | "refused" | "left";
  outcome?: string;
  reason?: string;
  contents?: { markdown?: string; missing?: string };
}

/** Submits the URL, waits until it is settled, and prints the page. */
async function main(url: string): Promise<void> {
  // Accept a capture from the last day.
  const { id } = await call<Page>("POST", "/v1/url", { url, max_age_s: 86_400 });
  let page: Page;
  do {
    // The service responds when the URL is settled, after at most a minute.
    page = await call<Page>("GET", `/v1/url/${id}?wait=60&include=markdown`);
  } while (page.state === "due");
  // A failed URL may have contents, too, and some captures have no Markdown, such as redirects and
  // images: `missing` says why.
  if (page.state === "captured" && page.contents?.markdown) {
    console.log(page.contents.markdown);
  } else {
    const why = [page.outcome, page.reason, page.contents?.missing].filter(Boolean);
    console.error(`${page.state}: ${why.join(", ")}`);
    process.exitCode = 1;
  }
}

main(process.argv[2]).catch(fail);
