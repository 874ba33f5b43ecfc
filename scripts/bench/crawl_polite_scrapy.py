"""Crawls politely with Scrapy, stores every page, and resumes after a stop.

Scrapy's documentation describes each part: CrawlSpider, JOBDIR, feeds, and the delay's settings.
Scrapy ignores Crawl-delay.

Arguments: a file with seeds, a file with sites, a directory, seconds between two requests to a
host.
"""

import base64
import pathlib
import sys

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

TOLD_NOT_TO_FOLLOW = 'meta[name="robots"][content*="nofollow"]'


class EveryPage(CrawlSpider):
    """Follows all links that robots.txt and nofollow allow."""

    name = "every-page"
    rules = (
        Rule(LinkExtractor(deny_extensions=[]), callback="keep", follow=True,
             process_links="without_nofollow", process_request="unless_told_not_to"),
    )

    def parse_start_url(self, response, **_):
        return self.keep(response)

    def keep(self, response):
        body = base64.b64encode(response.body).decode()
        yield {"url": response.url, "status": response.status, "body": body}

    def without_nofollow(self, links):
        return [link for link in links if not link.nofollow]

    def unless_told_not_to(self, request, response):
        """Returns the request, unless the page's meta element forbids following its links."""
        return None if response.css(TOLD_NOT_TO_FOLLOW) else request


def main():
    seeds, sites, folder, delay = sys.argv[1:]
    seeds = pathlib.Path(seeds).read_text(encoding="utf-8").split()
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": len(seeds),
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": float(delay),
            "DOWNLOAD_TIMEOUT": 10,
            "FEEDS": {f"{folder}/pages.jsonl": {"format": "jsonlines", "overwrite": False}},
            "JOBDIR": f"{folder}/job",
            "LOG_LEVEL": "ERROR",
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "USER_AGENT": "everytab-bench/1.0 (+https://bot.test)",
        }
    )
    sites = pathlib.Path(sites).read_text(encoding="utf-8").split()
    process.crawl(EveryPage, start_urls=seeds, allowed_domains=sites)
    process.start()


main()
