-- Null if no rate is set. This does not depend on how many workers are alive, because a lease
-- must not end early when other workers leave.
create or replace function coordinator.time_at_rate(
    p_kind everytab.job_kind, p_rate integer, p_archive_rate integer)
returns interval language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- Requests for a shard with 1,200 hosts, or for an index file in ranges.
    source_requests constant integer := 1200;
    -- Requests for the icon URLs of 1,200 hosts (2.53 per host), with redirects and robots.txt.
    icon_requests constant integer := 6000;
    -- Jobs that share the rate, which are those on a hundred workers, including retried
    -- requests.
    sharing_jobs constant integer := 800;
begin
    return make_interval(secs => sharing_jobs
        * case when p_kind in ('index', 'warc') then source_requests / p_archive_rate::float8
               when p_kind = 'icon' then icon_requests / p_rate::float8 end);
end $$;
