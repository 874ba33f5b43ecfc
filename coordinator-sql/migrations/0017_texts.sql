-- The text of captured pages, for full-text search: one row a page of crawls that are searched
-- (settings.search), beside fetches. Partitions as those of fetches, made where such a crawl
-- starts. Append-only. The text is what snippets are cut from.

create table everytab.fetch_texts (
    crawl integer not null,
    host_hash bigint not null,
    url_hash bigint not null,
    words tsvector not null,
    text text not null check (length(text) <= 65536),
    primary key (crawl, host_hash, url_hash)
) partition by range (crawl);
create index fetch_texts_words on everytab.fetch_texts using gin (words);
