-- The pages of a shard with their icon candidates, as the completed warc job recorded them.
create or replace function coordinator.load_icon(p_scan integer, p_shard integer)
returns table (host_no integer, hostname text, candidates text)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select p.host_no, p.hostname, p.candidates::text
      from pages p
      join jobs j on j.run = p_scan and j.kind = 'warc' and j.part = p_shard
       and j.state = 'completed' and j.lease_number = p.lease_number
     where p.scan = p_scan and p.shard = p_shard
     order by p.host_no;
end $$;
