create or replace function coordinator.load_index(p_scan integer, p_file integer)
returns table (path text, max_captures bigint)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select f.path, f.max_captures from index_files f where f.scan = p_scan and f.file = p_file;
$$;
