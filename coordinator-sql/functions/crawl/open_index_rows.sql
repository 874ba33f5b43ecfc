-- Opens a cursor, because a function's own result would be held in memory, and it may have
-- millions of rows. A revisit has no body, so its row describes the record that contains the
-- body.
create or replace function coordinator.open_index_rows(
    p_crawl integer, p_first_slot smallint, p_last_slot smallint)
returns refcursor language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    index_rows refcursor := 'index_rows';
    -- Checked once, because calling is_fetch_forgotten for each row costs far more than reading
    -- the row.
    is_any_forgotten boolean := exists (select from forgotten);
begin
    open index_rows no scroll for
    select f.host_hash, f.url, f.at, f.status, f.redirect, f.sha256, f.mime, f.charset, f.language,
           f.truncated, f.body_archive is not null as is_revisit,
           coalesce(f.body_url, f.url) as record_url, coalesce(f.body_at, f.at) as record_at,
           a.object, coalesce(f.body_offset, f.record_offset) as record_offset,
           coalesce(f.body_length, f.record_length) as record_length
      from fetches f join crawl_archives a on a.archive = coalesce(f.body_archive, f.archive)
     where f.crawl = p_crawl and f.slot between p_first_slot and p_last_slot
       and f.record_length > 0
       and not (is_any_forgotten and coordinator.is_fetch_forgotten(f));
    return index_rows;
end $$;
