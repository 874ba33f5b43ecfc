create or replace function coordinator.make_links_partition(p_hour integer)
returns void language sql set search_path = everytab, pg_temp as $$
    select coordinator.make_partition(
        'links', 'links_' || p_hour, format('from (%s) to (%s)', p_hour, p_hour + 1));
$$;
