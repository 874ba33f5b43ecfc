-- Writes the event url.done for each URL in a checkpoint that was submitted to a key's crawl:
-- one at depth 0 that has no referrer. p_closed are crawls for which nothing is recorded. If no
-- webhook wants such events, this costs one read from the webhooks.
create or replace function coordinator.tell_urls(
    p_closed integer[], p_crawls integer[], p_hosts bigint[], p_url_hashes bigint[],
    p_urls text[], p_at timestamptz[], p_depths smallint[], p_statuses smallint[],
    p_outcomes text[], p_bytes integer[], p_objects text[], p_offsets bigint[],
    p_lengths integer[], p_no_pages boolean[], p_via_url_hashes bigint[], p_vias text[])
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    event text := 'url.done';
begin
    if not exists (select from webhooks w where w.disabled_at is null and event = any (w.events))
    then
        return;
    end if;
    insert into webhook_events (webhook, body)
    select w.id, coordinator.webhook_body(event, clock_timestamp(), json_build_object(
               'id', api.url_id(k.secret_sha256, f.crawl, f.host_hash, f.url_hash),
               'url', f.url, 'crawl', c.id,
               'state', coordinator.ending_of(f.outcome, f.bytes), 'outcome', f.outcome,
               'status', f.status, 'at', coordinator.utc_text(f.at),
               'record', case when f.record_length is not null then json_build_object(
                   'object', f.object, 'offset', f.record_offset, 'length', f.record_length) end))
      from unnest(p_crawls, p_hosts, p_url_hashes, p_urls, p_at, p_depths, p_statuses, p_outcomes,
                  p_bytes, p_objects, p_offsets, p_lengths, p_no_pages, p_via_url_hashes, p_vias)
           as f (crawl, host_hash, url_hash, url, at, depth, status, outcome, bytes, object,
                 record_offset, record_length, is_no_page, via_url_hash, via)
      join api_crawls a on a.crawl = f.crawl
      join api_keys k on k.key = a.key
      join crawls c on c.crawl = f.crawl
      join webhooks w on w.key = a.key and w.disabled_at is null and event = any (w.events)
     where f.crawl <> all (p_closed) and f.depth = 0 and not coalesce(f.is_no_page, false)
       and f.via_url_hash is null and f.via is null
     order by w.id for key share of w;
end $$;
