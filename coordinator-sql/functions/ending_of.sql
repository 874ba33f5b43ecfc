-- How a URL with this outcome ended: captured, refused, left or failed.
create or replace function coordinator.ending_of(p_outcome text)
returns text language sql immutable as $$
    select case
        when p_outcome in ('ok', 'redirected', 'empty_body', 'not_modified') then 'captured'
        when p_outcome in ('type_refused', 'robots_disallowed', 'opted_out', 'ip_blocked',
                           'url_unparsable', 'url_too_long', 'url_scheme', 'url_port',
                           'url_credentials', 'noarchive', 'duplicate')
             or p_outcome like 'filtered\_%' then 'refused'
        when p_outcome in ('robots_unreachable', 'crawl_delay_too_long', 'host_dead',
                           'origin_dead', 'retry_after_too_long') then 'left'
        else 'failed' end;
$$;
