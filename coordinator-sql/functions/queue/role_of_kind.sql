create or replace function coordinator.role_of_kind(p_kind everytab.job_kind)
returns text language sql immutable as $$
    -- Text is compared, because a migration cannot use enum values in the transaction that adds
    -- them.
    select case p_kind::text
        when 'icon' then 'everytab_worker_icons'
        when 'index' then 'everytab_worker_crawl'
        when 'warc' then 'everytab_worker_crawl'
        when 'crawl-index' then 'everytab_worker'
        when 'crawl-close' then 'everytab_worker'
        else 'everytab_worker_site' end;
$$;
