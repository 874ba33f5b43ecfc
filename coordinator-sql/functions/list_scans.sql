-- All scans, newest first.
create or replace function coordinator.list_scans()
returns table (scan_id uuid, crawl text, state text, outstanding bigint, discarded bigint,
               started_at timestamptz, finished_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select s.scan_id, s.crawl, s.state::text, sum(st.outstanding), sum(st.discarded), s.started_at,
           s.finished_at
      from scans s join stages st using (scan) group by s.scan order by s.scan desc;
$$;
