-- If warc job k is discarded, icon job k and bundle-shard job k count as discarded, too. If
-- icon job k is discarded, bundle-shard job k still runs and makes tabs without icons.
create or replace function coordinator.discard(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_error text)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- The column is a smallint, so the count does not grow further.
    max_attempts constant integer := 32000;
    fenced jobs;
begin
    fenced := coordinator.check_fence(p_job_id, p_lease_number, p_token);
    if fenced.job_id is null then
        return 'lost';
    end if;
    perform coordinator.free_jobs(
        array[p_job_id], 'discarded', p_attempts => least(fenced.attempts + 1, max_attempts));
    insert into job_events (job_id, run, event, lease_number, worker_id, message)
    values (p_job_id, fenced.run, 'discard', p_lease_number, fenced.worker_id,
            left(p_error, coordinator.max_message_characters()));
    if fenced.kind = 'icon' then
        perform coordinator.enqueue(fenced.run, 'bundle-shard', array[fenced.part]);
    end if;
    perform coordinator.decrement_outstanding(fenced.run, fenced.kind, 'discarded', 1);
    if fenced.kind = 'warc' then
        perform coordinator.decrement_outstanding(fenced.run, 'icon', 'discarded', 1);
        perform coordinator.decrement_outstanding(fenced.run, 'bundle-shard', 'discarded', 1);
    end if;
    return 'discarded';
end $$;
