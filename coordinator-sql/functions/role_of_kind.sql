-- The role whose members take jobs of a kind. everytab_worker is a member of each, for processes
-- that take every kind.
create or replace function coordinator.role_of_kind(p_kind everytab.job_kind)
returns text language sql immutable as $$
    select case p_kind
        when 'icon' then 'everytab_worker_icons'
        when 'index' then 'everytab_worker_crawl'
        when 'warc' then 'everytab_worker_crawl'
        else 'everytab_worker_site' end;
$$;
