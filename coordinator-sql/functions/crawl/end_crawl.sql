-- The caller has locked the crawl's row. Closing the slot rows makes later checkpoints fail.
create or replace function coordinator.end_crawl(p_crawl integer, p_ended_by text)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    perform from crawl_slots s where s.crawl = p_crawl order by s.slot for no key update;
    update crawl_slots s
       set closed = true, pending = 0, reserved = 0,
           "left" = coordinator.add_counts(
               s."left", case when s.pending = 0 then '{}'
                         else jsonb_build_object(p_ended_by, s.pending) end)
     where s.crawl = p_crawl;
    insert into crawl_totals select p_crawl, t.* from coordinator.crawl_sums(p_crawl) t;
    update crawls c
       set state = 'ended', ended_by = p_ended_by, paused_by = null, seeding = false,
           finished_at = clock_timestamp()
     where c.crawl = p_crawl;
    perform coordinator.open_crawl_run(p_crawl);
    perform coordinator.tell_webhooks(c.owner, 'crawl.ended', json_build_object(
        'crawl', c.id, 'name', c.name, 'ended_by', c.ended_by, 'known', t.known,
        'captured', t.captured, 'failed', t.failed, 'failures', t.failures,
        'refused', t.refused, 'left', t."left"))
       from crawls c join crawl_totals t on t.crawl = c.crawl where c.crawl = p_crawl;
end $$;
