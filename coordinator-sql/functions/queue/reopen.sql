-- Makes ended jobs in a run pending again. Jobs that read their output, directly or through
-- other jobs, wait at not_before = 'infinity' until they are enqueued again. One statement
-- processes all shards, because updating a counter's row once per shard in one transaction
-- takes quadratic time. The caller has locked the table jobs.
create or replace function coordinator.reopen(
    p_run integer, p_job_ids bigint[], p_reason text)
returns integer language plpgsql set search_path = everytab, pg_temp as $$
declare
    reopened integer;
    first_kind job_kind;
    ready bigint[];
    waiting bigint[];
begin
    insert into job_events (job_id, run, event, lease_number, message)
    select j.job_id, p_run, 'reopened', j.lease_number,
           left(p_reason, coordinator.max_message_characters())
      from jobs j
     where j.run = p_run and j.job_id = any (p_job_ids) and j.state in ('completed', 'discarded');
    get diagnostics reopened = row_count;
    if reopened = 0 then
        return 0;
    end if;
    select min(j.kind) into first_kind from jobs j
     where j.run = p_run and j.job_id = any (p_job_ids) and j.state in ('completed', 'discarded');

    with again as materialized (
        select j.job_id, j.kind, j.part, j.state from jobs j
         where j.run = p_run and j.job_id = any (p_job_ids)
           and j.state in ('completed', 'discarded')),
    -- For each affected shard, the first kind that runs again.
    shards as (
        select part, min(kind) as first from (
            select a.part, a.kind from again a where a.kind in ('warc', 'icon', 'bundle-shard')
            union all
            select generate_series(0, s.shards - 1), 'index' from scans s
             where s.scan = p_run
               and exists (select from again a where a.kind = 'index')) firsts
         group by part),
    -- If a shard's warc job was discarded, the shard's other jobs were counted as discarded,
    -- too.
    moved as materialized (
        select j.job_id, k.kind, k.kind > s.first as waits,
               case when k.kind > 'warc' and w.state = 'discarded' then w.state
                    else j.state end as counted_as
          from shards s
         cross join unnest(enum_range('warc'::job_kind, 'bundle-shard')) k (kind)
          left join jobs j on j.run = p_run and j.kind = k.kind and j.part = s.part
          left join jobs w on w.run = p_run and w.kind = 'warc' and w.part = s.part
         where k.kind >= s.first
        union all
        select a.job_id, a.kind, false, a.state from again a
         where a.kind in ('index', 'search', 'map', 'publish', 'crawl-index',
                          'crawl-close')),
    recounted as (
        update stages st
           set outstanding = st.outstanding + c.done + c.discarded, finished_at = null,
               done = st.done - c.done, discarded = st.discarded - c.discarded
          from (select m.kind, count(*) filter (where m.counted_as = 'completed') as done,
                       count(*) filter (where m.counted_as = 'discarded') as discarded
                  from moved m group by m.kind) c
         where st.run = p_run and st.kind = c.kind)
    select array_agg(m.job_id) filter (where not m.waits),
           array_agg(m.job_id) filter (where m.waits)
      into ready, waiting from moved m where m.job_id is not null;

    perform coordinator.free_jobs(
        ready, 'pending', p_attempts => 0, p_crashes => 0, p_revoked => true);
    perform coordinator.free_jobs(
        waiting, 'pending', p_not_before => 'infinity', p_attempts => 0, p_crashes => 0,
        p_revoked => true);
    perform coordinator.reset_closing_stages(p_run, first_kind);
    update runs set state = 'running', finished_at = null
     where run = p_run and state in ('finished', 'finished_with_discards');
    return reopened;
end $$;
