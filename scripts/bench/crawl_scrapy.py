"""Crawls as Scrapy's tutorial does: follows every link on every page, and stores nothing.

Arguments: a file with seeds, seconds, concurrent hosts.
"""

import sys

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class EveryPage(CrawlSpider):
    name = "every-page"
    rules = (Rule(LinkExtractor()),)


def main():
    seeds, seconds, hosts = sys.argv[1:]
    process = CrawlerProcess(
        {
            "CLOSESPIDER_TIMEOUT": int(seconds),
            "CONCURRENT_REQUESTS": int(hosts),
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "ERROR",
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "USER_AGENT": "everytab-bench/1.0 (+https://bot.test)",
        }
    )
    with open(seeds, encoding="utf-8") as file:
        process.crawl(EveryPage, start_urls=file.read().split())
    process.start()


main()
