-- Raises an error if a path does not name a file below the crawl's store, because jobs read
-- every file that is named here.
create or replace function coordinator.check_warc_paths(p_paths text[])
returns void language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- Common Crawl's paths have about 140 characters.
    max_path_characters constant integer := 300;
    other text;
begin
    select named.path into other from unnest(p_paths) as named (path)
     where named.path is null or named.path !~ '^[A-Za-z0-9._=/-]+$'
        or named.path ~ '(^|/)[.]{0,2}(/|$)' or length(named.path) > max_path_characters
     limit 1;
    if found then
        raise exception '% is not the path of a WARC file',
            coalesce(left(other, max_path_characters), 'null')
            using errcode = 'invalid_parameter_value';
    end if;
end $$;
