-- What is due is looked for crawl by crawl: by slot and time alone, all hosts of a crawl that is
-- paused, or has no page left, were walked by each call.
create index frontier_due_of_crawl on everytab.frontier_due (slot, crawl, next_due);
drop index everytab.frontier_due_first;

-- Transactions of an earlier epoch may have greater ids than those of this one, so a page of a feed
-- could read all fetches of a crawl before it came to its own.
drop index everytab.fetches_feed;
create index fetches_feed on everytab.fetches (crawl, epoch, xid, id);

-- The sums of a crawl that has ended, which change no more. To add up those of 256 slots, with
-- their reasons, took 1.7 ms a crawl and list of crawls. Append-only.
create table everytab.crawl_totals (
    crawl integer primary key references everytab.crawls,
    sent bigint not null,
    read bigint not null,
    known bigint not null,
    pending bigint not null,
    reserved bigint not null,
    captured bigint not null,
    failed bigint not null,
    stored_bytes bigint not null,
    refused jsonb not null,
    "left" jsonb not null,
    links_refused jsonb not null
);

with ended as materialized (
    select s.* from everytab.crawl_slots s
      join everytab.crawls c on c.crawl = s.crawl and c.state = 'ended'),
reasons as (
    select n.crawl, n.what, jsonb_object_agg(n.name, n.amount) as amounts
      from (select e.crawl, o.what, a.name, sum(a.amount::bigint) as amount
              from ended e
             cross join lateral (values ('refused', e.refused), ('left', e."left"),
                                        ('links', e.links_refused)) o (what, object)
             cross join lateral jsonb_each_text(o.object) a (name, amount)
             group by e.crawl, o.what, a.name) n
     group by n.crawl, n.what)
insert into everytab.crawl_totals
select e.crawl, sum(e.sent), sum(e.read), sum(e.known), sum(e.pending), sum(e.reserved),
       sum(e.captured), sum(e.failed), sum(e.stored_bytes),
       coalesce((select r.amounts from reasons r
                  where r.crawl = e.crawl and r.what = 'refused'), '{}'),
       coalesce((select r.amounts from reasons r
                  where r.crawl = e.crawl and r.what = 'left'), '{}'),
       coalesce((select r.amounts from reasons r
                  where r.crawl = e.crawl and r.what = 'links'), '{}')
  from ended e group by e.crawl;
