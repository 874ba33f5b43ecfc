// Crawls politely with Crawlee, stores every page in its data set, and resumes after a stop, as
// Crawlee's documentation describes. Crawlee ignores Crawl-delay, and has no setting for one
// request at a time per host.
//
// Arguments: a file with seeds, a file with sites, seconds between two requests to a domain.

import { readFileSync } from "node:fs";
import { CheerioCrawler, log } from "crawlee";

const [seedsFile, sitesFile, delay] = process.argv.slice(2);
const words = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean);
const seeds = words(seedsFile);
const sites = words(sitesFile).map((site) => site.replaceAll(".", "\\."));
log.setLevel(log.LEVELS.ERROR);

const crawler = new CheerioCrawler({
  minConcurrency: seeds.length,
  sameDomainDelaySecs: Number(delay),
  respectRobotsTxtFile: true,
  navigationTimeoutSecs: 10,
  additionalMimeTypes: ["application/pdf", "image/png"],
  async requestHandler({ $, body, request, response, enqueueLinks, pushData }) {
    const kept = Buffer.from(body).toString("base64");
    await pushData({ url: request.loadedUrl, status: response.statusCode, body: kept });
    if (!$ || $('meta[name="robots"][content*="nofollow"]').length > 0) return;
    await enqueueLinks({
      strategy: "all",
      selector: 'a:not([rel~="nofollow"])',
      regexps: [new RegExp(`^https?://([^/]+\\.)?(${sites.join("|")})/`)],
    });
  },
});
await crawler.run(seeds);
