-- How long a job may take where the fleet's rate bounds it, however many jobs share the rate: a
-- worker's requests are the fleet's rate divided by the workers. Null where no rate is set. At the
-- usual rates this is minutes; at the 9 requests a second of the source over HTTPS, thirty workers
-- need hours for a job.
create or replace function coordinator.time_at_rate(
    p_kind everytab.job_kind, p_workers integer, p_rate integer, p_archive_rate integer)
returns interval language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- A shard of 1,200 hosts, and a file of the index in ranges.
    source_requests constant integer := 1200;
    -- Its icon URLs, 2.53 a host, with redirects and robots.txt.
    icon_requests constant integer := 6000;
    -- More jobs than a worker performs at a time, and requests that are repeated.
    margin constant integer := 8;
begin
    return make_interval(secs => p_workers * margin
        * case when p_kind in ('index', 'warc') then source_requests / p_archive_rate::float8
               when p_kind = 'icon' then icon_requests / p_rate::float8 end);
end $$;
