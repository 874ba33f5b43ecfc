-- Skips truncated bodies, because an ETag applies to the whole body.
create or replace function coordinator.earlier_fetches(
    p_crawl integer, p_host_hashes bigint[], p_url_hashes bigint[])
returns table (host_hash bigint, url_hash bigint, bytes integer, sha256 bytea, mime text,
               charset text, language text, title text, etag text, last_modified text,
               body_url text, body_host_hash bigint, body_url_hash bigint, body_at timestamptz,
               body_object text, body_offset bigint, body_length integer)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- Looked up first, so that only one partition is searched.
    earlier integer;
begin
    select e.crawl into earlier
      from crawls c join crawls e on e.id = (c.settings->>'again')::uuid
     where c.crawl = p_crawl and e.dropping_at is null;
    return query
    select f.host_hash, f.url_hash, f.bytes, f.sha256, f.mime, f.charset, f.language, f.title,
           f.etag, f.last_modified, coalesce(f.body_url, f.url),
           coalesce(f.body_host_hash, f.host_hash), coalesce(f.body_url_hash, f.url_hash),
           coalesce(f.body_at, f.at), a.object, coalesce(f.body_offset, f.record_offset),
           coalesce(f.body_length, f.record_length)
      from unnest(p_host_hashes, p_url_hashes) asked (host_hash, url_hash)
      join fetches f on f.crawl = earlier and f.host_hash = asked.host_hash
                    and f.url_hash = asked.url_hash
      join crawl_archives a on a.archive = coalesce(f.body_archive, f.archive)
     where f.outcome in ('ok', 'empty_body', 'not_modified', 'duplicate')
       and f.sha256 is not null and f.truncated is null
       and not coordinator.is_fetch_forgotten(f);
end $$;
