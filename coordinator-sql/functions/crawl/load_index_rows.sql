create or replace function coordinator.load_index_rows(
    p_crawl integer, p_host_hashes bigint[], p_url_hashes bigint[])
returns table (host_hash bigint, url_hash bigint, url text, at timestamptz, status smallint,
               redirect text, sha256 bytea, mime text, charset text, language text, truncated text,
               is_revisit boolean, record_url text, record_at timestamptz, object text,
               record_offset bigint, record_length integer)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select f.host_hash, f.url_hash, f.url, f.at, f.status, f.redirect, f.sha256, f.mime, f.charset,
           f.language, f.truncated, f.body_archive is not null, coalesce(f.body_url, f.url),
           coalesce(f.body_at, f.at), a.object, coalesce(f.body_offset, f.record_offset),
           coalesce(f.body_length, f.record_length)
      from unnest(p_host_hashes, p_url_hashes) asked (host_hash, url_hash)
      join fetches f on f.crawl = p_crawl and f.host_hash = asked.host_hash
                    and f.url_hash = asked.url_hash
      join crawl_archives a on a.archive = coalesce(f.body_archive, f.archive)
     where f.record_length > 0
       and not coordinator.is_fetch_forgotten(f);
$$;
