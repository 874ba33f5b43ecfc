-- A crawl that has ended leaves indexes, lists and documents beside its archives. The jobs that
-- write these are a run of the queue, opened where the crawl ends. Crawls that ended before this
-- migration have none, until `crawl index` asks for it.
alter type everytab.job_kind add value 'crawl-index';
alter type everytab.job_kind add value 'crawl-close';

alter table everytab.crawls add column run integer unique references everytab.runs;
