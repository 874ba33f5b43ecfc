-- Brings rows of a backup back and moves the mark of what is done from p_before to p_done, in one
-- transaction: so each row comes back once, whatever was cut off or sent twice. False: the mark is
-- not at p_before, because somebody else restores the scan.
create or replace function coordinator.restore_rows(
    p_scan integer, p_table text, p_rows json, p_before jsonb, p_done jsonb)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    mark jsonb;
    names text;
    fields text;
begin
    select s.settings -> 'restoring' into mark from scans s
     where s.scan = p_scan and s.settings ? 'restoring' for no key update;
    if not found or mark -> 'done' is distinct from p_before then
        return false;
    end if;
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
           string_agg(case a.attname when 'scan' then '$2' when 'job_id' then 'r.job_id + $3'
                                     else 'r.' || quote_ident(a.attname) end, ', '
                      order by a.attnum)
      into names, fields from pg_attribute a
     where a.attrelid = coordinator.backup_table(p_scan, p_table) and a.attnum > 0
       and not a.attisdropped;
    execute format('insert into %1$s (%2$s) overriding system value
                    select %3$s from json_populate_recordset(null::%1$s, $1) r',
                   coordinator.backup_table(p_scan, p_table), names, fields)
      using p_rows, p_scan, (mark ->> 'job_offset')::bigint;
    update scans set settings = jsonb_set(settings, '{restoring,done}', p_done)
     where scan = p_scan;
    return true;
end $$;
