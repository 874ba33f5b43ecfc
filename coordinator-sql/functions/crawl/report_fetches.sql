-- A row counts fetches with the same final state and the same outcome, status, type, depth or
-- hour (UTC), or one host's failed or left fetches by outcome. The last row has the kind
-- position, and its name is the position for the next call. It is missing if there were no
-- further fetches.
create or replace function coordinator.report_fetches(
    p_crawl integer, p_after_epoch smallint, p_after_xid bigint, p_after_id bigint)
returns table (kind text, name text, host_hash bigint, ending text, amount bigint)
language plpgsql stable security definer set search_path = everytab, pg_temp
-- As in api.feed.
set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
    -- Maximum fetches that a call counts, which takes half a second.
    max_rows constant integer := 100000;
begin
    return query
    with part as materialized (
        select f.epoch, f.xid, f.id, f.host_hash, f.outcome,
               coordinator.ending_of(f.outcome, f.bytes) as ending, f.status, f.mime, f.depth,
               date_trunc('hour', f.at at time zone 'UTC') as hour
          from fetches f
         where f.crawl = p_crawl
           and (f.epoch, f.xid, f.id) > (p_after_epoch, p_after_xid::text::xid8, p_after_id)
         order by f.epoch, f.xid, f.id limit max_rows),
    counted as (
        select case when grouping(p.outcome) = 0 then 'outcome'
                    when grouping(p.status) = 0 then 'status'
                    when grouping(p.mime) = 0 then 'type'
                    when grouping(p.depth) = 0 then 'depth' else 'hour' end as kind,
               p.outcome, p.status, p.mime, p.depth, p.hour, p.ending, count(*) as amount
          from part p
         group by p.ending, grouping sets ((p.outcome), (p.status), (p.mime), (p.depth), (p.hour)))
    select c.kind,
           case c.kind when 'outcome' then c.outcome when 'status' then c.status::text
                       -- Limit characters = 100: a person cannot read a longer type.
                       when 'type' then left(lower(split_part(c.mime, ';', 1)), 100)
                       when 'depth' then c.depth::text
                       else to_char(c.hour, 'YYYY-MM-DD HH24:MI') end,
           null::bigint, c.ending, c.amount
      from counted c
    union all
    select 'host', p.outcome, p.host_hash, p.ending, count(*)
      from part p where p.ending in ('failed', 'left')
     group by p.host_hash, p.outcome, p.ending
    union all
    (select 'position', format('%s-%s-%s', p.epoch, p.xid, p.id), null, null, null
       from part p order by p.epoch desc, p.xid desc, p.id desc limit 1);
end $$;
