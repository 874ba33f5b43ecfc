-- This is a security definer, because rows of a cursor are computed with the rights of the
-- reader.
create or replace function coordinator.is_fetch_forgotten(p_fetch everytab.fetches)
returns boolean language plpgsql stable security definer set search_path = everytab, pg_temp as $$
declare
    stored_at timestamptz := coalesce(p_fetch.body_at, p_fetch.at);
    label text[];
begin
    -- In most databases nothing was forgotten.
    if not exists (select from forgotten) then
        return false;
    end if;
    if exists (select from forgotten g
                where g.kind = 'url' and stored_at <= g.forgotten_at
                  and (g.host_hash, g.url_hash) in (
                      (p_fetch.host_hash, p_fetch.url_hash),
                      (p_fetch.body_host_hash, p_fetch.body_url_hash))) then
        return true;
    end if;
    label := string_to_array(coordinator.host_of_url(p_fetch.url), '.');
    return exists (
        select from generate_series(1, cardinality(label)) first_label
          join forgotten g on g.kind = 'site' and g.name = array_to_string(label[first_label:], '.')
         where stored_at <= g.forgotten_at);
end $$;
