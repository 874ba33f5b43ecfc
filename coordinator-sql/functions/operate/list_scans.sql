create or replace function coordinator.list_scans()
returns table (scan_id uuid, crawl text, state text, outstanding bigint, discarded bigint,
               started_at timestamptz, finished_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select s.scan_id, s.crawl, r.state::text, sum(st.outstanding), sum(st.discarded), r.started_at,
           r.finished_at
      from scans s join runs r on r.run = s.scan join stages st on st.run = s.scan
     group by s.scan, r.run order by s.scan desc;
$$;
