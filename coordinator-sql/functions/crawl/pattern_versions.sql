-- Returns the versions oldest first, or null if the patterns have never changed.
create or replace function coordinator.pattern_versions(p_crawl integer)
returns jsonb language sql stable set search_path = everytab, pg_temp as $$
    select jsonb_agg(jsonb_build_object('version', v.version, 'changed_at', v.changed_at,
                                        'include', v.include, 'exclude', v.exclude)
                     order by v.version)
      from crawl_patterns v where v.crawl = p_crawl;
$$;
