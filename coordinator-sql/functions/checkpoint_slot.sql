-- Records a slot holder's work since its last checkpoint, in one transaction. Checkpoints are
-- numbered from 1 within a lease. If one is sent again because its reply was lost, it records
-- nothing and returns the first one's result.
--
-- p_counts has one object per crawl: how much its sums grow (pending may shrink), its failed,
-- refused, left and links_refused by reason, how many reserved pages it used and how many it
-- returns. The other arrays are columns for rows: fetches, links, chunks and hosts, as in the
-- tables, and p_texts is the text of pages that are searched. p_cursor and p_urgent_cursor are
-- null if links that were read are not merged yet.
--
-- Returns the result recorded, repeated or lost, and the crawls in p_counts that have ended, by
-- this checkpoint or before it. Nothing is recorded for those that had ended before.
create or replace function coordinator.checkpoint_slot(
    p_slot smallint, p_lease_number integer, p_token uuid, p_checkpoint bigint, p_cursor text,
    p_urgent_cursor text, p_counts jsonb,
    p_fetch_crawls integer[], p_fetch_hosts bigint[], p_url_hashes bigint[], p_urls text[],
    p_at timestamptz[], p_durations_ms integer[], p_depths smallint[], p_statuses smallint[],
    p_outcomes text[], p_bytes integer[], p_sha256 bytea[], p_mimes text[], p_charsets text[],
    p_languages text[], p_titles text[], p_etags text[], p_last_modified text[],
    p_redirects text[], p_objects text[], p_record_offsets bigint[], p_record_lengths integer[],
    p_body_objects text[], p_body_offsets bigint[], p_body_lengths integer[],
    p_body_at timestamptz[], p_body_urls text[], p_body_host_hashes bigint[],
    p_body_url_hashes bigint[], p_truncated text[], p_texts text[], p_no_pages boolean[],
    p_via_host_hashes bigint[], p_via_url_hashes bigint[], p_vias text[], p_certificates text[],
    p_link_crawls integer[], p_link_groups smallint[], p_link_masks integer[],
    p_link_urgent boolean[], p_link_amounts integer[], p_link_data bytea[],
    p_chunk_crawls integer[], p_chunk_hosts bigint[], p_seqs integer[], p_snapshots boolean[],
    p_next_dues timestamptz[], p_knowns integer[], p_pendings integer[], p_chunk_data bytea[],
    p_host_hashes bigint[], p_site_hashes bigint[], p_hostnames text[], p_free_at timestamptz[],
    p_delays_ms integer[], p_responses_ms integer[], p_crawl_delays_ms integer[],
    p_origins text[], p_robots bytea[], p_robots_until timestamptz[], p_addresses text[],
    p_addresses_until timestamptz[],
    out word text, out ended integer[])
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    fenced slots;
    counts record;
    closed integer[] := '{}';
    answer text;
    current_epoch smallint;
    objects crawl_archives[];
begin
    ended := '{}';
    perform coordinator.check_links(
        p_link_groups, p_link_masks, p_link_urgent, p_link_amounts, p_link_data);
    fenced := coordinator.check_slot(p_slot, p_lease_number, p_token);
    if fenced.slot is null then
        word := 'lost';
        return;
    elsif p_checkpoint = fenced.checkpoint then
        word := 'repeated';
        ended := array(select c.crawl from crawls c
                         join jsonb_to_recordset(p_counts) as n (crawl integer) on n.crawl = c.crawl
                        where c.state = 'ended' order by c.crawl);
        return;
    elsif p_checkpoint is distinct from fenced.checkpoint + 1 then
        raise exception 'slot % expects checkpoint %, not %', p_slot, fenced.checkpoint + 1,
            p_checkpoint using errcode = 'invalid_parameter_value';
    end if;
    -- Ordered by crawl, so that checkpoints cannot deadlock.
    for counts in
        select * from jsonb_to_recordset(p_counts) as n (
            crawl integer, known bigint, pending bigint, captured bigint, failed jsonb,
            refused jsonb, "left" jsonb, links_refused jsonb, sent bigint, read bigint,
            pages bigint, given_back bigint, stored_bytes bigint)
         order by n.crawl
    loop
        answer := coordinator.count_in_slot(
            p_slot, counts.crawl, counts.known, counts.pending, counts.captured, counts.failed,
            counts.refused, counts."left", counts.links_refused, counts.sent, counts.read,
            counts.pages, counts.given_back, counts.stored_bytes);
        if answer = 'closed' then
            closed := closed || counts.crawl;
        end if;
        if answer <> 'open' then
            ended := ended || counts.crawl;
        end if;
    end loop;
    select coalesce(max(r.epoch), 0) into current_epoch from restores r;
    objects := coordinator.add_archives(p_fetch_crawls, p_objects, p_body_objects, closed);
    insert into fetches (crawl, host_hash, url_hash, url, at, duration_ms, depth, status, outcome,
                         bytes, sha256, mime, charset, language, title, etag, last_modified,
                         redirect, archive, record_offset, record_length, body_archive,
                         body_offset, body_length, body_at, body_url, body_host_hash,
                         body_url_hash, truncated, is_no_page, via_host_hash, via_url_hash, via,
                         certificate, slot, lease_number, epoch)
    select f.crawl, f.host_hash, f.url_hash, f.url, f.at, f.duration_ms, f.depth, f.status,
           f.outcome, f.bytes, f.sha256, f.mime, f.charset, f.language, f.title, f.etag,
           f.last_modified, f.redirect, a.archive, f.record_offset, f.record_length, b.archive,
           f.body_offset, f.body_length, f.body_at, f.body_url, f.body_host_hash, f.body_url_hash,
           f.truncated, nullif(f.is_no_page, false), f.via_host_hash, f.via_url_hash, f.via,
           f.certificate, p_slot, p_lease_number, current_epoch
      from unnest(p_fetch_crawls, p_fetch_hosts, p_url_hashes, p_urls, p_at, p_durations_ms,
                  p_depths, p_statuses, p_outcomes, p_bytes, p_sha256, p_mimes, p_charsets,
                  p_languages, p_titles, p_etags, p_last_modified, p_redirects, p_objects,
                  p_record_offsets, p_record_lengths, p_body_objects, p_body_offsets,
                  p_body_lengths, p_body_at, p_body_urls, p_body_host_hashes, p_body_url_hashes,
                  p_truncated, p_no_pages, p_via_host_hashes, p_via_url_hashes, p_vias,
                  p_certificates)
           as f (crawl, host_hash, url_hash, url, at, duration_ms, depth, status, outcome, bytes,
                 sha256, mime, charset, language, title, etag, last_modified, redirect, object,
                 record_offset, record_length, body_object, body_offset, body_length, body_at,
                 body_url, body_host_hash, body_url_hash, truncated, is_no_page, via_host_hash,
                 via_url_hash, via, certificate)
      left join unnest(objects) a on a.crawl = f.crawl and a.object = f.object
      left join unnest(objects) b on b.crawl = f.crawl and b.object = f.body_object
     where f.crawl <> all (closed);
    perform coordinator.tell_urls(
        closed, p_fetch_crawls, p_fetch_hosts, p_url_hashes, p_urls, p_at, p_depths, p_statuses,
        p_outcomes, p_bytes, p_objects, p_record_offsets, p_record_lengths, p_no_pages,
        p_via_url_hashes, p_vias);
    insert into fetch_texts (crawl, host_hash, url_hash, words, text)
    select f.crawl, f.host_hash, f.url_hash, coordinator.words_of_page(f.title, f.text), f.text
      from unnest(p_fetch_crawls, p_fetch_hosts, p_url_hashes, p_titles, p_texts)
           as f (crawl, host_hash, url_hash, title, text)
     where f.text is not null and f.crawl <> all (closed);
    if cardinality(p_link_crawls) > 0 then
        insert into links (hour, crawl, slot_group, slot_mask, is_urgent, amount, data)
        select coordinator.links_hour(), l.*
          from unnest(p_link_crawls, p_link_groups, p_link_masks, p_link_urgent, p_link_amounts,
                      p_link_data) as l (crawl)
         where l.crawl <> all (closed);
    end if;
    perform coordinator.put_chunks(
        p_slot, closed, p_chunk_crawls, p_chunk_hosts, p_seqs, p_snapshots, p_next_dues, p_knowns,
        p_pendings, p_chunk_data);
    perform coordinator.put_hosts(
        p_slot, p_host_hashes, p_site_hashes, p_hostnames, p_free_at, p_delays_ms, p_responses_ms,
        p_crawl_delays_ms, p_origins, p_robots, p_robots_until, p_addresses, p_addresses_until);
    update slots s
       set checkpoint = p_checkpoint, deaths = 0,
           cursor = coalesce(p_cursor::pg_snapshot, s.cursor),
           urgent_cursor = coalesce(p_urgent_cursor::pg_snapshot, s.urgent_cursor)
     where s.slot = p_slot;
    word := 'recorded';
end $$;
