-- Returns a scan and its run as one JSON object, which `backup` writes to backup.json. The
-- object's keys are part of this file format.
create or replace function coordinator.backup_scan(p_scan integer)
returns jsonb language sql stable security definer set search_path = everytab, pg_temp as $$
    select to_jsonb(r) - array['run', 'kind', 'digests'] || r.digests || to_jsonb(s)
      from scans s join runs r on r.run = s.scan where s.scan = p_scan;
$$;
