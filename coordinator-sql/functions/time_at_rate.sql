-- How long a job may take where the fleet's rate bounds it: a worker's requests are the fleet's
-- rate divided by the workers. Null where no rate is set. At the usual rates this is minutes; at
-- the 9 requests a second of the source over HTTPS, many workers need hours for a job. It does not
-- follow the number of live workers: a lease must not end because other workers have left.
create or replace function coordinator.time_at_rate(
    p_kind everytab.job_kind, p_rate integer, p_archive_rate integer)
returns interval language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- A shard of 1,200 hosts, and a file of the index in ranges.
    source_requests constant integer := 1200;
    -- Its icon URLs, 2.53 a host, with redirects and robots.txt.
    icon_requests constant integer := 6000;
    -- Jobs that share the rate, with requests that are repeated: those of a hundred workers.
    sharing_jobs constant integer := 800;
begin
    return make_interval(secs => sharing_jobs
        * case when p_kind in ('index', 'warc') then source_requests / p_archive_rate::float8
               when p_kind = 'icon' then icon_requests / p_rate::float8 end);
end $$;
