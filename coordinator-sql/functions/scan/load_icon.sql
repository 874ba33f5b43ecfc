create or replace function coordinator.load_icon(p_scan integer, p_shard integer)
returns table (host_no integer, hostname text, candidates text)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    warc_lease integer := coordinator.completed_lease(p_scan, 'warc', p_shard);
begin
    return query
    select p.host_no, p.hostname, p.candidates::text from pages p
     where p.scan = p_scan and p.shard = p_shard and p.lease_number = warc_lease
     order by p.host_no;
end $$;
