-- The rows of a scan in p_blocks blocks of a table from p_from_block on, a JSON object each. Of
-- warc_files, which all scans share, every row. By blocks, because the data tables have no key to
-- go on from, and a range of blocks is read without a sort, however large the table.
create or replace function coordinator.backup_rows(
    p_scan integer, p_table text, p_from_block bigint, p_blocks integer)
returns setof text language plpgsql stable security definer
set search_path = everytab, pg_temp as $$
begin
    return query execute format(
        'select row_to_json(t)::text from %s t'
        ' where t.ctid >= $1 and t.ctid < $2 %s order by t.ctid',
        coordinator.backup_table(p_scan, p_table),
        case when p_table <> 'warc_files' then 'and t.scan = $3' end)
    using format('(%s,0)', p_from_block)::tid, format('(%s,0)', p_from_block + p_blocks)::tid,
          p_scan;
end $$;
