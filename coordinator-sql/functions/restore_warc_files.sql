-- The ids that WARC files have in this database, in the order of p_paths, each made where missing.
create or replace function coordinator.restore_warc_files(p_paths text[])
returns integer[] language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    -- Sorted, so that two that bring back the same files cannot deadlock.
    insert into warc_files (path)
    select distinct named.path from unnest(p_paths) named (path)
     where not exists (select from warc_files known where known.path = named.path)
     order by named.path
    on conflict (path) do nothing;
    return array(select w.warc_file
                   from unnest(p_paths) with ordinality named (path, place)
                   join warc_files w using (path) order by named.place);
end $$;
