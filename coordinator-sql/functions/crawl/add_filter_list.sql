-- Returns the list's version, which increases only if the content or object differs. The object
-- is already in the store.
create or replace function coordinator.add_filter_list(
    p_name text, p_kind text, p_store text, p_object text, p_sha256 bytea, p_entries bigint,
    p_bytes bigint, p_categories jsonb, p_source text)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    newest filter_lists;
begin
    lock table filter_lists in share row exclusive mode;
    select * into newest from filter_lists l where l.name = p_name
     order by l.version desc limit 1;
    if newest.sha256 = p_sha256 and newest.store = p_store and newest.object = p_object then
        return newest.version;
    end if;
    insert into filter_lists (name, version, kind, store, object, sha256, entries, bytes,
                              categories, source)
    values (p_name, coalesce(newest.version, 0) + 1, p_kind, p_store, p_object, p_sha256,
            p_entries, p_bytes, p_categories, p_source);
    return coalesce(newest.version, 0) + 1;
end $$;
