-- Takes the closing jobs that follow a reopened job back to where they were before they were
-- enqueued: they wait, and their stages count nothing until the new closing round opens them.
create or replace function coordinator.withhold_closing(
    p_scan integer, p_kind everytab.job_kind)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    update jobs
       set state = 'pending', not_before = 'infinity', attempts = 0, crashes = 0,
           lease_number = lease_number + (state = 'leased')::integer,
           lease_token = null, lease_until = null, in_hand = null
     where scan = p_scan and kind in ('search', 'publish') and kind > p_kind;
    update stages set outstanding = 0, done = 0, discarded = 0, finished_at = null
     where scan = p_scan and kind in ('search', 'publish') and kind > p_kind;
end $$;
