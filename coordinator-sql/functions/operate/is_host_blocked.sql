create or replace function coordinator.is_host_blocked(p_hostname text)
returns boolean language sql stable set search_path = everytab, pg_temp as $$
    with labels as (select string_to_array(p_hostname, '.') as label)
    select exists (select from blocklist b where b.kind = 'hostname' and b.pattern = p_hostname)
        or exists (select from blocklist b, labels,
                          generate_series(1, cardinality(label)) first_label
                    where b.kind = 'suffix'
                      and b.pattern = array_to_string(label[first_label:], '.'));
$$;
