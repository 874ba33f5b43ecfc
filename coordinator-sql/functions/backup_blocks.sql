-- How many blocks a table of a scan has: backup_rows reads it by ranges of them, each row once, as
-- long as the scan has ended and nothing is updated.
create or replace function coordinator.backup_blocks(p_scan integer, p_table text)
returns bigint language plpgsql stable security definer
set search_path = everytab, pg_temp as $$
begin
    return pg_relation_size(coordinator.backup_table(p_scan, p_table))
           / current_setting('block_size')::bigint;
end $$;
