-- If the lease is lost, returns false and writes nothing.
create or replace function coordinator.record_pages(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_chunk integer,
    p_pages everytab.page_row[])
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chunk record;
begin
    perform coordinator.check_chunk(p_chunk, cardinality(p_pages));
    chunk := coordinator.begin_chunk(
        p_job_id, p_lease_number, p_token, p_chunk, 'warc');
    if not chunk.held or not chunk.fresh then
        return chunk.held;
    end if;
    insert into pages (scan, shard, lease_number, host_no, hostname, https, frameable, framing_rule,
                       charset, title_state, title, candidates, outcome)
    select chunk.run, chunk.part, p_lease_number, p.host_no, p.hostname, p.https, p.frameable,
           p.framing_rule, p.charset, p.title_state, p.title, p.candidates::json, p.outcome
      from unnest(p_pages) p;
    return true;
end $$;
