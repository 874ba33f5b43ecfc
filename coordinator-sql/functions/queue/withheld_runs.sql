-- The worker reports these runs, because otherwise it would seem idle.
create or replace function coordinator.withheld_runs(p_digests jsonb)
returns table (run integer, scan_id uuid, digest text, wanted text, offered text, kinds text[])
language sql stable security definer set search_path = everytab, pg_temp as $$
    select r.run, coalesce(s.scan_id, c.id), named.digest, named.wanted, p_digests ->> named.digest,
           coordinator.kinds_that_need(named.digest)::text[]
      from runs r
      left join scans s on s.scan = r.run
      left join crawls c on c.run = r.run
     cross join lateral jsonb_each_text(r.digests) as named (digest, wanted)
     where r.state in ('running', 'paused')
       and p_digests ->> named.digest is distinct from named.wanted
     order by r.run, named.digest;
$$;
