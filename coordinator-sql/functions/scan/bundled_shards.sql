-- A shard also counts if its job was completed before and then discarded when it ran again,
-- because the site may still show its bundles. Takedowns find hosts by the search files, so
-- these must contain all hosts that the site may show.
create or replace function coordinator.bundled_shards(p_scan integer)
returns setof integer language sql stable security definer
set search_path = everytab, pg_temp as $$
    select j.part from jobs j
     where j.run = p_scan and j.kind = 'bundle-shard'
       and (j.state = 'completed'
            or exists (select from job_results r where r.job_id = j.job_id))
     order by j.part;
$$;
