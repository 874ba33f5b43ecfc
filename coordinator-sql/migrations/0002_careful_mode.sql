-- Poison-item isolation, deadlines, and no more reads of stages by lease calls.

-- The item that a job under isolation handles; a sweep moves it into the event of the crash.
alter table everytab.jobs add column in_hand bigint check (in_hand >= 0);
alter table everytab.job_events add column item bigint;

-- How long one lease of a job may last in all; null: by kind (coordinator.deadline).
alter table everytab.scans add column deadline_ms bigint check (deadline_ms > 0);

-- Counters change with every completion, and every reader steps over an old row version for as long
-- as some transaction may still see it. What a lease call reads is therefore in a table that seldom
-- changes.
alter table everytab.scans add column paused_kinds everytab.job_kind[] not null default '{}';
update everytab.scans s set paused_kinds = array(
    select st.kind from everytab.stages st where st.scan = s.scan and st.paused);
alter table everytab.stages drop column paused;

-- Results are appended and summed by scan: a BRIN index finds them as well as a B-tree, and costs a
-- completion nothing.
drop index everytab.job_results_scan;
create index job_results_scan on everytab.job_results using brin (scan)
    with (pages_per_range = 16, autosummarize = on);
