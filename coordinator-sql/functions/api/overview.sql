-- Returns the installation's activity for any key, so the result must not contain a worker, a
-- store, an error message or a live crawl's name.
create or replace function api.overview(p_key text, p_secret bytea, p_crawl uuid)
returns jsonb language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- As in share_of_slots.
    seen_within constant interval := '15 seconds';
    -- Limit scans_shown = 3: one scan may be running, and a person compares it with the ones
    -- before.
    scans_shown constant integer := 3;
    -- As in run_workers.
    recent constant interval := '5 minutes';
    -- Computing a pace reads thousands of hosts, and the rest of this call some tens of rows.
    pace_cost constant integer := 5;
    now_at timestamptz := clock_timestamp();
    own crawls;
    pace jsonb;
begin
    perform api.check_reader(p_key, p_secret,
                             1 + case when p_crawl is null then 0 else pace_cost end);
    if p_crawl is not null then
        own := api.own_crawl(p_key, p_crawl);
        -- The crawl may just have ended, and then has no pace.
        select to_jsonb(p) into pace from coordinator.crawl_pace(own.crawl) p
         where p.hosts is not null;
    end if;
    return jsonb_build_object(
        'now', now_at,
        'live_workers', (select count(*) from workers w where w.seen_at > now_at - seen_within),
        'held_slots', (select count(*) from slots s where s.lease_until > now_at),
        'slots', (select count(*) from slots),
        'pace', pace,
        'scans', coalesce((
            select jsonb_agg(jsonb_build_object(
                       'id', s.scan_id, 'state', s.state,
                       -- A live crawl's scan has this crawl's name, which may belong to another
                       -- key.
                       'crawl', case when starts_with(s.crawl, 'LIVE-') then 'LIVE'
                                else s.crawl end,
                       'started_at', s.started_at, 'finished_at', s.finished_at,
                       'workers', (select count(distinct j.worker_id) from jobs j
                                    where j.run = s.scan and j.state = 'leased'),
                       'errors', coalesce((
                           select jsonb_object_agg(e.event, e.amount) from (
                               select ev.event, count(*) as amount from job_events ev
                                where ev.run = s.scan and ev.at > now_at - recent
                                  and ev.event in ('retry', 'discard', 'expired', 'release')
                                group by 1) e), '{}'),
                       'stages', coalesce((
                           select jsonb_agg(jsonb_build_object(
                                      'kind', st.kind, 'outstanding', st.outstanding,
                                      'done', st.done, 'discarded', st.discarded,
                                      'is_paused', st.kind = any (s.paused_kinds),
                                      'started_at', st.started_at,
                                      'finished_at', st.finished_at) order by st.kind)
                             from stages st where st.run = s.scan), '[]'))
                   order by s.is_open desc, s.scan desc)
              from (select c.scan, c.scan_id, c.crawl, r.state, r.started_at, r.finished_at,
                           r.paused_kinds, r.state in ('running', 'paused') as is_open
                      from scans c join runs r on r.run = c.scan
                     order by is_open desc, c.scan desc limit scans_shown) s), '[]'));
end $$;
