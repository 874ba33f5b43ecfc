-- Returns the role whose members take jobs with a kind. everytab_worker is a member of each,
-- for processes that take every kind; only this role takes a live crawl's jobs, as well as its
-- slots.
create or replace function coordinator.role_of_kind(p_kind everytab.job_kind)
returns text language sql immutable as $$
    -- These are texts, because a migration cannot use values in a type to which it adds them.
    select case p_kind::text
        when 'icon' then 'everytab_worker_icons'
        when 'index' then 'everytab_worker_crawl'
        when 'warc' then 'everytab_worker_crawl'
        when 'crawl-index' then 'everytab_worker'
        when 'crawl-close' then 'everytab_worker'
        else 'everytab_worker_site' end;
$$;
