-- After the start of a removal, crawls that repeat this one no longer refer to its records, so
-- that its archives can be deleted once its rows are gone.
create or replace function coordinator.mark_dropping(p_id uuid, p_is_dropping boolean)
returns void language sql security definer set search_path = everytab, pg_temp as $$
    update crawls c
       set dropping_at = case when p_is_dropping
                              then coalesce(c.dropping_at, clock_timestamp()) end
     where c.id = p_id and c.state = 'ended' and c.dropped_at is null;
$$;
