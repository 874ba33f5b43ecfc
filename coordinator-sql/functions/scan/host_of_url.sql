-- An IPv6 address keeps its brackets. everytab_jobs::request_table::host_of follows the same
-- rule.
create or replace function coordinator.host_of_url(p_url text)
returns text language sql immutable parallel safe as $$
    select rtrim(regexp_replace(split_part(p_url, '/', 3), ':[0-9]*$', ''), '.');
$$;
