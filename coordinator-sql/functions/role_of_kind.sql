-- The role whose members take jobs of a kind. everytab_worker is a member of each, for processes
-- that take every kind; the jobs of a live crawl are for it alone, as the crawl's slots are.
create or replace function coordinator.role_of_kind(p_kind everytab.job_kind)
returns text language sql immutable as $$
    -- As texts: a migration cannot use the values of a type that it adds.
    select case p_kind::text
        when 'icon' then 'everytab_worker_icons'
        when 'index' then 'everytab_worker_crawl'
        when 'warc' then 'everytab_worker_crawl'
        when 'crawl-index' then 'everytab_worker'
        when 'crawl-close' then 'everytab_worker'
        else 'everytab_worker_site' end;
$$;
