-- How many requests a second the fleet sends to a run's source, all workers together (null: no
-- limit). Common Crawl's bucket is shared by everyone who reads it.
alter table everytab.runs add column archive_rate integer check (archive_rate > 0);
