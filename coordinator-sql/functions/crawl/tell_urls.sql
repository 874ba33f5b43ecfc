-- A submitted URL has depth 0 and no referrer. If no webhook receives this event, this costs
-- only one read from webhooks.
create or replace function coordinator.tell_urls(
    p_closed integer[], p_fetches everytab.fetch_row[])
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
      from unnest(p_fetches) f
      join api_crawls a on a.crawl = f.crawl
      join api_keys k on k.key = a.key
      join crawls c on c.crawl = f.crawl
      join webhooks w on w.key = a.key and w.disabled_at is null and event = any (w.events)
     where f.crawl <> all (p_closed) and f.depth = 0 and not coalesce(f.is_no_page, false)
       and f.via_url_hash is null and f.via is null
     order by w.id for key share of w;
end $$;
