-- What follows a stage whose last job ended: the index stage fans out into shards, bundle-shard
-- opens search, search opens publish, and publish ends the run.
create or replace function coordinator.advance(p_run integer, p_kind everytab.job_kind)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    if p_kind = 'index' then
        perform coordinator.fan_out(p_run);
    elsif p_kind = 'bundle-shard' then
        perform coordinator.open_stage(p_run, 'search', coordinator.search_ranges());
    elsif p_kind = 'search' then
        perform coordinator.open_stage(p_run, 'publish', 1);
    elsif p_kind = 'publish' then
        update runs set finished_at = clock_timestamp(),
               state = case when exists (select from stages st
                                          where st.run = p_run and st.discarded > 0)
                            then 'finished_with_discards' else 'finished' end::run_state
         where run = p_run and state in ('running', 'paused');
    end if;
end $$;
