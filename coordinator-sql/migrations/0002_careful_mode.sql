-- Careful mode, deadlines, and stages that a lease need not read.

-- The item that a careful run has in hand; a sweep moves it into the event of the death.
alter table everytab.jobs add column in_hand bigint check (in_hand >= 0);
alter table everytab.job_events add column item bigint;

-- The longest that any run may take; null: by kind (coordinator.deadline).
alter table everytab.scans add column deadline_ms bigint check (deadline_ms > 0);

-- Counters change with every completion, and an old row version is walked past by every reader for
-- as long as a transaction somewhere may see it: what a lease asks for lies where little changes.
alter table everytab.scans add column paused_kinds everytab.job_kind[] not null default '{}';
update everytab.scans s set paused_kinds = array(
    select st.kind from everytab.stages st where st.scan = s.scan and st.paused);
alter table everytab.stages drop column paused;

-- Results are appended and summed by scan: a summary of the blocks finds them as well as an entry a
-- row, and costs a completion nothing.
drop index everytab.job_results_scan;
create index job_results_scan on everytab.job_results using brin (scan)
    with (pages_per_range = 16, autosummarize = on);
