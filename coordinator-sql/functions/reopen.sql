-- Makes ended jobs of a scan pending again and sets what they feed to wait for them (at
-- not_before = 'infinity'), counters included; holders of those are fenced off by raised lease
-- numbers. An index job feeds all shards. By sets: a scan has 25,000 shards, and a counter row
-- updated once a shard in one transaction would cost the square of that. Answers how many jobs
-- were reopened. The caller has locked the jobs.
create or replace function coordinator.reopen(
    p_scan integer, p_job_ids bigint[], p_reason text)
returns integer language plpgsql set search_path = everytab, pg_temp as $$
declare
    reopened integer;
    first_kind job_kind;
begin
    insert into job_events (job_id, scan, event, lease_number, message)
    select j.job_id, p_scan, 'reopened', j.lease_number, left(p_reason, 1000) from jobs j
     where j.scan = p_scan and j.job_id = any (p_job_ids) and j.state in ('completed', 'discarded');
    get diagnostics reopened = row_count;
    if reopened = 0 then
        return 0;
    end if;
    select min(j.kind) into first_kind from jobs j
     where j.scan = p_scan and j.job_id = any (p_job_ids) and j.state in ('completed', 'discarded');

    with again as materialized (
        select j.kind, j.part, j.state from jobs j
         where j.scan = p_scan and j.job_id = any (p_job_ids)
           and j.state in ('completed', 'discarded')),
    shards as (
        select part, min(kind) as first from (
            select a.part, a.kind from again a where a.kind in ('warc', 'icon', 'bundle-shard')
            union all
            select generate_series(0, s.shards - 1), 'index' from scans s
             where s.scan = p_scan and exists (select from again a where a.kind = 'index')) runs
         group by part),
    -- A shard whose warc job was discarded had its other jobs counted as discarded with it.
    moved as materialized (
        select k.kind, s.part, k.kind > s.first as fed,
               case when k.kind > 'warc' and w.state = 'discarded' then w.state
                    else j.state end as was
          from shards s
         cross join unnest(enum_range('warc'::job_kind, 'bundle-shard')) k (kind)
          left join jobs j on j.scan = p_scan and j.kind = k.kind and j.part = s.part
          left join jobs w on w.scan = p_scan and w.kind = 'warc' and w.part = s.part
         where k.kind >= s.first
        union all
        select a.kind, a.part, false, a.state from again a
         where a.kind in ('index', 'search', 'publish')),
    changed as (
        update jobs j
           set state = 'pending', attempts = 0, crashes = 0,
               not_before = case when m.fed then 'infinity'::timestamptz end,
               lease_number = j.lease_number + (j.state = 'leased')::integer,
               lease_token = null, lease_until = null, in_hand = null
          from moved m where j.scan = p_scan and j.kind = m.kind and j.part = m.part)
    update stages st
       set outstanding = st.outstanding + c.done + c.discarded, finished_at = null,
           done = st.done - c.done, discarded = st.discarded - c.discarded
      from (select m.kind, count(*) filter (where m.was = 'completed') as done,
                   count(*) filter (where m.was = 'discarded') as discarded
              from moved m group by m.kind) c
     where st.scan = p_scan and st.kind = c.kind;

    perform coordinator.withhold_closing(p_scan, first_kind);
    update scans set state = 'running', finished_at = null
     where scan = p_scan and state in ('finished', 'finished_with_discards');
    return reopened;
end $$;
