-- Records a slot holder's work. Checkpoints are numbered from 1 within a lease, and a repeated
-- one records nothing.
--
-- p_counts has one object per crawl: the changes to its sums (pending may decrease), its
-- failed, refused, left and links_refused by reason, and the reserved pages that were used
-- (pages) or are returned (given_back).
--
-- ended contains the crawls in p_counts that this checkpoint ended or that had ended before.
-- Nothing is recorded for the latter.
create or replace function coordinator.checkpoint_slot(
    p_slot smallint, p_lease_number integer, p_token uuid, p_checkpoint bigint, p_cursor text,
    p_urgent_cursor text, p_counts jsonb,
    p_fetches everytab.fetch_row[], p_links everytab.link_row[], p_chunks everytab.chunk_row[],
    p_hosts everytab.host_row[],
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
    perform coordinator.check_links(p_links);
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
    objects := coordinator.add_archives(p_fetches, closed);
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
      from unnest(p_fetches) f
      left join unnest(objects) a on a.crawl = f.crawl and a.object = f.object
      left join unnest(objects) b on b.crawl = f.crawl and b.object = f.body_object
     where f.crawl <> all (closed);
    perform coordinator.tell_urls(closed, p_fetches);
    insert into fetch_texts (crawl, host_hash, url_hash, words, text)
    select f.crawl, f.host_hash, f.url_hash, coordinator.words_of_page(f.title, f.text), f.text
      from unnest(p_fetches) f
     where f.text is not null and f.crawl <> all (closed);
    if cardinality(p_links) > 0 then
        insert into links (hour, crawl, slot_group, slot_mask, is_urgent, amount, data)
        select coordinator.links_hour(), l.crawl, l.slot_group, l.slot_mask, l.is_urgent, l.amount,
               l.data
          from unnest(p_links) l
         where l.crawl <> all (closed);
    end if;
    perform coordinator.put_chunks(p_slot, closed, p_chunks);
    perform coordinator.put_hosts(p_slot, p_hosts);
    update slots s
       set checkpoint = p_checkpoint, deaths = 0,
           cursor = coalesce(p_cursor::pg_snapshot, s.cursor),
           urgent_cursor = coalesce(p_urgent_cursor::pg_snapshot, s.urgent_cursor)
     where s.slot = p_slot;
    word := 'recorded';
end $$;
