-- What follows a stage whose last job ended: index fans out into shards, the last bundle-shard
-- into the search jobs, the last search job into publish, and publish ends the scan.
create or replace function coordinator.advance(p_scan integer, p_kind everytab.job_kind)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    if p_kind = 'index' then
        perform coordinator.fan_out(p_scan);
    elsif p_kind = 'bundle-shard' then
        perform coordinator.open_stage(p_scan, 'search', coordinator.search_ranges());
    elsif p_kind = 'search' then
        perform coordinator.open_stage(p_scan, 'publish', 1);
    elsif p_kind = 'publish' then
        update scans set finished_at = clock_timestamp(),
               state = case when exists (select from stages st
                                          where st.scan = p_scan and st.discarded > 0)
                            then 'finished_with_discards' else 'finished' end::scan_state
         where scan = p_scan and state in ('running', 'paused');
    end if;
end $$;
