-- Whether a fetch of this time is forgotten: its URL, or the site of its host. With the owner's
-- rights, for who fetches from a cursor has its own.
create or replace function coordinator.is_forgotten(
    p_host_hash bigint, p_url_hash bigint, p_url text, p_at timestamptz)
returns boolean language sql stable security definer set search_path = everytab, pg_temp as $$
    with labels as (
        select string_to_array(coordinator.host_of_url(p_url), '.') as label)
    select exists (select from forgotten g
                    where g.kind = 'url' and g.host_hash = p_host_hash
                      and g.url_hash = p_url_hash and p_at <= g.forgotten_at)
        or exists (select from forgotten g, labels,
                          generate_series(1, cardinality(label)) first_label
                    where g.kind = 'site' and g.name = array_to_string(label[first_label:], '.')
                      and p_at <= g.forgotten_at);
$$;
