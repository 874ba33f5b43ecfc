-- Returns how long a job may take if the fleet's rate limits it: a worker's requests are the
-- fleet's rate divided by the workers. Null if no rate is set. At the usual rates this is
-- minutes; at the source's 9 requests per second over HTTPS, many workers need hours per job.
-- This does not depend on how many workers are alive, because a lease must not end because
-- other workers have left.
create or replace function coordinator.time_at_rate(
    p_kind everytab.job_kind, p_rate integer, p_archive_rate integer)
returns interval language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- A shard with 1,200 hosts, and an index file in ranges.
    source_requests constant integer := 1200;
    -- Its icon URLs, 2.53 a host, with redirects and robots.txt.
    icon_requests constant integer := 6000;
    -- Jobs that share the rate, with retried requests: those on a hundred workers.
    sharing_jobs constant integer := 800;
begin
    return make_interval(secs => sharing_jobs
        * case when p_kind in ('index', 'warc') then source_requests / p_archive_rate::float8
               when p_kind = 'icon' then icon_requests / p_rate::float8 end);
end $$;
