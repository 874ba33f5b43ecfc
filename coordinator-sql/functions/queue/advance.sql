-- Runs the next step after a stage's last job has ended.
create or replace function coordinator.advance(p_run integer, p_kind everytab.job_kind)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    if p_kind = 'index' then
        perform coordinator.fan_out(p_run);
    elsif p_kind = 'bundle-shard' then
        -- Open search first, because it always has jobs. A map stage without jobs ends
        -- immediately, and must not open publish.
        perform coordinator.open_stage(p_run, 'search', coordinator.search_jobs());
        perform coordinator.open_stage(p_run, 'map', coordinator.map_jobs(p_run));
    elsif p_kind in ('search', 'map') then
        -- The last search job and the last map job may end at the same time, and then neither
        -- transaction sees the other's count. The second one waits here, and the next statement
        -- sees the first one's commit. An update, unlike a lock, fails in a transaction that
        -- reads one snapshot, because the run would otherwise never end.
        update runs r set state = r.state where r.run = p_run;
        if not exists (select from stages st
                        where st.run = p_run and st.kind in ('search', 'map')
                          and st.outstanding > 0) then
            perform coordinator.open_stage(p_run, 'publish', 1);
        end if;
    elsif p_kind = 'crawl-index' then
        perform coordinator.open_stage(p_run, 'crawl-close', 1);
    elsif p_kind in ('publish', 'crawl-close') then
        update runs set finished_at = clock_timestamp(),
               state = case when exists (select from stages st
                                          where st.run = p_run and st.discarded > 0)
                            then 'finished_with_discards' else 'finished' end::run_state
         where run = p_run and state in ('running', 'paused');
    end if;
end $$;
