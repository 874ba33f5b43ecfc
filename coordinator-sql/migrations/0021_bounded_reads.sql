-- What is due is looked for crawl by crawl: by slot and time alone, all hosts of a crawl that is
-- paused, or has no page left, were walked by each call.
create index frontier_due_of_crawl on everytab.frontier_due (slot, crawl, next_due);
drop index everytab.frontier_due_first;

-- Transactions of an earlier epoch may have greater ids than those of this one, so a page of a feed
-- could read all fetches of a crawl before it came to its own.
drop index everytab.fetches_feed;
create index fetches_feed on everytab.fetches (crawl, epoch, xid, id);
