-- What is due is looked for crawl by crawl: by slot and time alone, all hosts of a crawl that is
-- paused, or has no page left, were walked by each call.
create index frontier_due_of_crawl on everytab.frontier_due (slot, crawl, next_due);
drop index everytab.frontier_due_first;
