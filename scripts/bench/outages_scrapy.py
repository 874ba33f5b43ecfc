"""Crawls hosts with Scrapy and its default retries, and prints each good page's URL.

Arguments: a file with seeds, seconds between two requests to a host, time limit in seconds.
"""

import pathlib
import sys

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class EveryPage(CrawlSpider):
    name = "every-page"
    rules = (Rule(LinkExtractor(), callback="keep", follow=True),)

    def keep(self, response):
        """Prints a page's URL. Scrapy passes only successful responses."""
        print(response.url, flush=True)


def main():
    seeds, delay, limit = sys.argv[1:]
    process = CrawlerProcess(
        {
            # All requests are in their hosts' queues, so that a host that hangs does not delay
            # others.
            "CONCURRENT_REQUESTS": 100_000,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": float(delay),
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            # Names that cannot be resolved must not delay others.
            "REACTOR_THREADPOOL_MAXSIZE": 100,
            "ROBOTSTXT_OBEY": True,
            "AUTOTHROTTLE_ENABLED": False,
            "CLOSESPIDER_TIMEOUT": int(limit),
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "USER_AGENT": "everytab-bench/1.0 (+https://bot.test)",
        }
    )
    start_urls = pathlib.Path(seeds).read_text(encoding="utf-8").split()
    process.crawl(EveryPage, start_urls=start_urls)
    process.start()


main()
