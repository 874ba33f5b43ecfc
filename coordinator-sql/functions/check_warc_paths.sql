-- Refuses paths that are not WARC files of the run's crawl: a job reads what they name from the
-- crawl's bucket.
create or replace function coordinator.check_warc_paths(p_scan integer, p_paths text[])
returns void language plpgsql stable set search_path = everytab, pg_temp as $$
declare
    -- The paths of Common Crawl have about 140 characters.
    max_path_characters constant integer := 300;
    below text;
    other text;
begin
    select 'crawl-data/' || s.crawl || '/' into strict below from scans s where s.scan = p_scan;
    select named.path into other from unnest(p_paths) as named (path)
     where named.path is null or not starts_with(named.path, below)
        or named.path !~ '^[A-Za-z0-9._=/-]+$' or named.path ~ '(^|/)[.]{0,2}(/|$)'
        or length(named.path) > max_path_characters
     limit 1;
    if found then
        raise exception '% is no WARC file below %',
            coalesce(left(other, max_path_characters), 'null'), below
            using errcode = 'invalid_parameter_value';
    end if;
end $$;
