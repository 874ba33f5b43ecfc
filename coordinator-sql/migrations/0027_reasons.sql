-- Failed URLs by outcome, as refused and left ones are: failed has their sum. What failed before
-- has no outcome here, so these may add up to less.
alter table everytab.crawl_slots add column failures jsonb not null default '{}';
alter table everytab.crawl_totals add column failures jsonb not null default '{}';

-- What led to a URL, and what is wrong with the certificate of its server (null: nothing, or no
-- TLS). via_url_hash is the hash of the URL that links or redirects to it, of the same crawl, and
-- via_host_hash that of its host where it is another one. The text via has it instead while the row
-- of that URL is not recorded: hashes take 12 bytes a fetch, and texts 70. Null of seeds, and of
-- all before.
alter table everytab.fetches
    add column via_host_hash bigint, add column via_url_hash bigint, add column via text,
    add column certificate text check (length(certificate) <= 20);

-- Those that were not captured, by outcome: a few among millions. The others cost nothing.
create index fetches_uncaptured on everytab.fetches (crawl, outcome, epoch, xid, id)
 where outcome not in ('ok', 'redirected', 'empty_body', 'not_modified');

alter type everytab.api_fetch add attribute via text;
alter type everytab.api_fetch add attribute certificate text;
