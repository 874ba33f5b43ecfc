-- Crawls that were started with the filter keep their copy.
create or replace function api.remove_filter(p_key text, p_secret bytea, p_id uuid)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_key(p_key, p_secret, 1);
    delete from filters f where f.id = p_id and f.owner = 'key:' || p_key;
    if not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
