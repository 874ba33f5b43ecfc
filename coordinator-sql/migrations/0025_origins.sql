-- Failures and pauses belong to an origin of a host (scheme, host and port): one port can be dead
-- while another answers. put_hosts says what an object of the array holds. Pauses that are recorded
-- by host are forgotten: each origin is requested once more.
alter table everytab.frontier_hosts add column origins jsonb
    check (jsonb_typeof(origins) = 'array');
alter table everytab.frontier_hosts drop column failures;
