-- Where the body of a fetch is in the record of another URL: that one's hashes of host and URL, by
-- which its fetches are found. No fetch of before has such a body.
alter table everytab.fetches add column body_host_hash bigint, add column body_url_hash bigint;

-- Who forgets a URL looks for those that have its body. Other fetches are not in it.
create index fetches_body on everytab.fetches (crawl, body_host_hash, body_url_hash)
 where body_url_hash is not null;
