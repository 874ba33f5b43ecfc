-- Returns the role whose members may lease jobs of a kind. everytab_worker is a member of each
-- of these roles, for processes that lease every kind. Only everytab_worker may lease a live
-- crawl's jobs and slots.
create or replace function coordinator.role_of_kind(p_kind everytab.job_kind)
returns text language sql immutable as $$
    -- We compare text, because a migration cannot use enum values in the transaction that adds
    -- them.
    select case p_kind::text
        when 'icon' then 'everytab_worker_icons'
        when 'index' then 'everytab_worker_crawl'
        when 'warc' then 'everytab_worker_crawl'
        when 'crawl-index' then 'everytab_worker'
        when 'crawl-close' then 'everytab_worker'
        else 'everytab_worker_site' end;
$$;
