-- All keys may use these lists.
create or replace function api.filter_lists(p_key text, p_secret bytea, p_names text[])
returns table (name text, version integer, kind text, store text, object text, sha256 bytea,
               entries bigint, bytes bigint, categories jsonb, source text,
               imported_at timestamptz)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query select * from coordinator.filter_lists(p_names);
end $$;
