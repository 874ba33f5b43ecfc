create or replace function coordinator.shards_with_hosts(
    p_scan integer, p_kinds text[], p_patterns text[])
returns integer[] language plpgsql stable security definer
set search_path = everytab, pg_temp as $$
declare
    names text[];
    tails text[];
begin
    select array_agg(g.pattern),
           array_agg('%.' || replace(g.pattern, '_', '\_')) filter (where g.kind = 'suffix')
      into names, tails
      from unnest(p_kinds, p_patterns) as g (kind, pattern)
     where g.kind in ('hostname', 'suffix');
    if names is null then
        return '{}';
    end if;
    return array(
        select distinct p.shard from pages p
         where p.scan = p_scan
           and (p.hostname = any (names) or p.hostname like any (coalesce(tails, '{}')))
         order by p.shard);
end $$;
