-- Waits at most 100 ms in total, because every worker that needs a table queues behind this
-- lock request. If a table remains locked, raises ET011 and names the session that holds the
-- lock.
create or replace function coordinator.lock_tables(p_tables text[], p_mode text)
returns void language plpgsql set search_path = everytab, pg_temp
-- The loop sets another value for each lock. When the function returns, the session's own value
-- is restored.
set lock_timeout = 0 as $$
declare
    -- Including the work under the lock, the fleet waits less than 200 ms.
    wait_ms constant integer := 100;
    begun timestamptz := clock_timestamp();
    left_ms integer;
    next_table text;
    holder text;
begin
    foreach next_table in array p_tables loop
        left_ms := greatest(1, wait_ms - extract(milliseconds from clock_timestamp() - begun));
        perform set_config('lock_timeout', left_ms::text, true);
        execute format('lock table only everytab.%I in %s mode', next_table, p_mode);
    end loop;
exception
    when lock_not_available then
        select format('process %s (role %s, application %s)',
                      a.pid, a.usename, coalesce(nullif(a.application_name, ''), 'without a name'))
          into holder
          from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where l.locktype = 'relation' and l.granted and l.pid <> pg_backend_pid()
           and l.database = (select d.oid from pg_database d where d.datname = current_database())
           and l.relation = format('everytab.%I', next_table)::regclass
           -- In all modes except access exclusive, other sessions may read.
           and (p_mode = 'access exclusive' or l.mode <> 'AccessShareLock')
         order by a.xact_start nulls last limit 1;
        raise exception 'table % is locked by %', next_table,
            coalesce(holder, 'a session that has released it since')
            using errcode = 'ET011';
end $$;
