-- The caller has validated the patterns. The word is moved if they were changed since
-- p_version, and full if all versions together would exceed their maximum size.
create or replace function coordinator.change_patterns(
    p_id uuid, p_version integer, p_include jsonb, p_exclude jsonb, out word text,
    out version integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- Maximum size of all versions, because a crawl's status contains them all.
    max_bytes constant bigint := 4194304;
    -- Bytes per version in addition to its patterns.
    bytes_a_version constant bigint := 100;
    crawl_row crawls;
    bytes bigint;
begin
    select * into crawl_row from crawls c where c.id = p_id for no key update;
    select coalesce(sum(length(v.include::text) + length(v.exclude::text)
                        + bytes_a_version), 0)
           + length(p_include::text) + length(p_exclude::text)
      into bytes from crawl_patterns v where v.crawl = crawl_row.crawl;
    version := crawl_row.patterns_version;
    if crawl_row.crawl is null then
        word := 'unknown';
    elsif crawl_row.state = 'ended' then
        word := 'ended';
    elsif p_version is distinct from version then
        word := 'moved';
    elsif crawl_row.settings -> 'include' = p_include
            and crawl_row.settings -> 'exclude' = p_exclude then
        word := 'unchanged';
    elsif bytes > max_bytes then
        word := 'full';
    else
        if version = 1 then
            insert into crawl_patterns (crawl, version, changed_at, include, exclude)
            values (crawl_row.crawl, 1, crawl_row.started_at,
                    coalesce(crawl_row.settings -> 'include', '[]'),
                    coalesce(crawl_row.settings -> 'exclude', '[]'));
        end if;
        word := 'changed';
        version := version + 1;
        insert into crawl_patterns (crawl, version, include, exclude)
        values (crawl_row.crawl, version, p_include, p_exclude);
        update crawls c
           set patterns_version = change_patterns.version,
               settings = c.settings
                   || jsonb_build_object('include', p_include, 'exclude', p_exclude)
         where c.crawl = crawl_row.crawl;
    end if;
end $$;
