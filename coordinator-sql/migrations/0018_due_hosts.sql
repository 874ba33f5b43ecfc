-- When something of a host is due in a live crawl: one row a host and crawl, while anything is
-- pending there. Each chunk had a time of its own, so those of chunks that newer ones had overtaken
-- stood among the ones that are due, and could fill all that a worker looks at. Updated by
-- checkpoints, but seldom while the host stays due.
create table everytab.frontier_due (
    slot smallint not null,
    crawl integer not null,
    host_hash bigint not null,
    next_due timestamptz not null,
    primary key (slot, crawl, host_hash)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index frontier_due_first on everytab.frontier_due (slot, next_due);

insert into everytab.frontier_due (slot, crawl, host_hash, next_due)
select n.slot, n.crawl, n.host_hash, n.next_due
  from (select distinct on (c.slot, c.crawl, c.host_hash)
               c.slot, c.crawl, c.host_hash, c.next_due
          from everytab.frontier_chunks c
         order by c.slot, c.crawl, c.host_hash, c.seq desc) n
 where n.next_due is not null;

drop index everytab.frontier_chunks_due;
alter table everytab.frontier_chunks drop column next_due;
