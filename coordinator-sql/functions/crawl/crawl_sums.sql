create or replace function coordinator.crawl_sums(p_crawl integer)
returns table (sent bigint, read bigint, known bigint, pending bigint, reserved bigint,
               captured bigint, failed bigint, stored_bytes bigint, refused jsonb, "left" jsonb,
               links_refused jsonb, failures jsonb)
language plpgsql stable set search_path = everytab, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select t.sent, t.read, t.known, t.pending, t.reserved, t.captured, t.failed, t.stored_bytes,
           t.refused, t."left", t.links_refused, t.failures
      from crawl_totals t where t.crawl = p_crawl;
    if found then
        return;
    end if;
    return query
    select coalesce(sum(s.sent), 0)::bigint, coalesce(sum(s.read), 0)::bigint,
           coalesce(sum(s.known), 0)::bigint, coalesce(sum(s.pending), 0)::bigint,
           coalesce(sum(s.reserved), 0)::bigint, coalesce(sum(s.captured), 0)::bigint,
           coalesce(sum(s.failed), 0)::bigint, coalesce(sum(s.stored_bytes), 0)::bigint,
           coordinator.sum_objects(array_agg(s.refused)),
           coordinator.sum_objects(array_agg(s."left")),
           coordinator.sum_objects(array_agg(s.links_refused)),
           coordinator.sum_objects(array_agg(s.failures))
      from crawl_slots s where s.crawl = p_crawl;
end $$;
