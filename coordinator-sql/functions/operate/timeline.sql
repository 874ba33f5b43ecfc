-- Returns the timeline of the server's write-ahead log, as eight hexadecimal digits. A standby
-- that is promoted starts a new timeline. Null on a standby.
create or replace function coordinator.timeline()
returns text language sql stable set search_path = everytab, pg_temp as $$
    select case when not pg_is_in_recovery()
                then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end;
$$;
