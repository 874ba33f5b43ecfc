create or replace function coordinator.run_outcomes(p_run integer)
returns table (kind text, key text, name text, amount bigint)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select r.kind::text, section.key, entry.key, sum(entry.value::bigint)::bigint
      from job_results r
      join jobs j on j.job_id = r.job_id and j.lease_number = r.lease_number
       and j.state = 'completed'
      cross join lateral jsonb_each(r.stats) section
      cross join lateral jsonb_each_text(section.value) entry
     where r.run = p_run and section.key in ('inputs', 'outcomes', 'counts')
     group by 1, 2, 3;
$$;
