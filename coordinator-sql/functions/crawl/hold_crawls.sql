-- Skips crawls whose rows are locked, and those that an operator paused.
create or replace function coordinator.hold_crawls()
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    with owners as materialized (
        select o.owner, coordinator.hold_of_owner(o.owner) as hold
          from (select distinct c.owner from crawls c where c.state <> 'ended') o),
    changed as materialized (
        select c.crawl, o.hold
          from crawls c join owners o on o.owner = c.owner
         where c.state <> 'ended' and c.paused_by is distinct from 'operator'
           and c.paused_by is distinct from o.hold
         order by c.crawl for no key update of c skip locked)
    update crawls c
       set state = case when n.hold is null then 'running' else 'paused' end, paused_by = n.hold
      from changed n where c.crawl = n.crawl;
end $$;
