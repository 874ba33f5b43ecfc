-- Returns all versions of a crawl's includes and excludes, oldest first: an array of objects
-- with version, changed_at, include and exclude. Null if they have never changed.
create or replace function coordinator.pattern_versions(p_crawl integer)
returns jsonb language sql stable set search_path = everytab, pg_temp as $$
    select jsonb_agg(jsonb_build_object('version', v.version, 'changed_at', v.changed_at,
                                        'include', v.include, 'exclude', v.exclude)
                     order by v.version)
      from crawl_patterns v where v.crawl = p_crawl;
$$;
