-- If a body ended early, the part that was received is stored, and the URL is captured.
create or replace function coordinator.ending_of(p_outcome text, p_bytes integer)
returns text language sql immutable as $$
    select case
        when p_outcome in ('ok', 'redirected', 'empty_body', 'not_modified') then 'captured'
        when p_outcome in ('body_truncated', 'body_reset', 'h1_parse', 'total_timeout')
             and p_bytes > 0 then 'captured'
        when p_outcome in ('type_refused', 'robots_disallowed', 'opted_out', 'ip_blocked',
                           'url_unparsable', 'url_too_long', 'url_scheme', 'url_port',
                           'url_credentials', 'noarchive', 'duplicate')
             or p_outcome like 'filtered\_%' then 'refused'
        when p_outcome in ('robots_unreachable', 'crawl_delay_too_long', 'host_dead',
                           'origin_dead', 'retry_after_too_long', 'trap_shape', 'excluded',
                           'not_included') then 'left'
        else 'failed' end;
$$;
