-- Makes room for a scan from a backup, or finds what an earlier restore of it left. The scan is
-- cancelled, and marked by settings.restoring, until restore_end. Job numbers are the backup's,
-- from p_first_job to p_last_job, moved to where none are taken. Answers the scan's number and the
-- mark of what is done.
create or replace function coordinator.restore_begin(
    p_row jsonb, p_first_job bigint, p_last_job bigint)
returns jsonb language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    known scans%rowtype;
    job_numbers text := pg_get_serial_sequence('everytab.jobs', 'job_id');
    first_free bigint;
    new_scan integer;
    data_table text;
begin
    select * into known from scans s where s.scan_id = (p_row ->> 'scan_id')::uuid for update;
    if found then
        if not known.settings ? 'restoring' then
            raise exception 'scan % is in this database already', known.scan_id
                using errcode = 'ET004';
        end if;
        return jsonb_build_object('scan', known.scan,
                                  'done', known.settings -> 'restoring' -> 'done');
    end if;
    lock table jobs in exclusive mode;
    first_free := nextval(job_numbers);
    perform setval(job_numbers, first_free + greatest(p_last_job - p_first_job, 0));
    new_scan := nextval(pg_get_serial_sequence('everytab.scans', 'scan'));
    insert into scans overriding system value
    select restored.* from jsonb_populate_record(null::scans, p_row || jsonb_build_object(
        'scan', new_scan, 'state', 'cancelled',
        'settings', (p_row -> 'settings') || jsonb_build_object('restoring', jsonb_build_object(
            'job_offset', first_free - p_first_job, 'done', null)))) restored;
    foreach data_table in array array['hosts', 'pages', 'icons'] loop
        execute format('create table everytab.%I partition of everytab.%I for values in (%s)',
                       data_table || '_' || new_scan, data_table, new_scan);
    end loop;
    return jsonb_build_object('scan', new_scan, 'done', null);
end $$;
