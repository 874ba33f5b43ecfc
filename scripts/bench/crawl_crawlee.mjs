// Crawls as Crawlee's guide does: parses every page, follows every link, and stores nothing.
//
// Arguments: a file with seeds, seconds, concurrent hosts.

import { readFileSync } from "node:fs";
import { CheerioCrawler, Configuration, log } from "crawlee";

const [seeds, seconds, hosts] = process.argv.slice(2);
log.setLevel(log.LEVELS.ERROR);

const crawler = new CheerioCrawler(
  {
    minConcurrency: Number(hosts),
    maxConcurrency: Number(hosts),
    respectRobotsTxtFile: true,
    maxRequestRetries: 1,
    async requestHandler({ enqueueLinks }) {
      await enqueueLinks({ strategy: "all" });
    },
  },
  new Configuration({ persistStorage: false }),
);
setTimeout(() => process.exit(0), Number(seconds) * 1000);
await crawler.run(readFileSync(seeds, "utf8").split("\n").filter(Boolean));
