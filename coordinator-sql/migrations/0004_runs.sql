-- A queue of runs. Stages, jobs, their results and their events belong to a run: what they need to
-- know of it (state, rate, deadline, digests) is in runs. A scan is one kind of run; its own data
-- (its id, crawl, settings and shards) stays in scans. The number of a scan is that of its run.

create type everytab.run_kind as enum ('scan', 'crawl');
alter type everytab.scan_state rename to run_state;

-- One row a run, read by every lease call and seldom updated, so that a lease call does not step
-- over old versions of the row. digests names what the run's output depends on besides its input,
-- such as the icon encoder: a worker whose digest differs takes no jobs of the kinds that need it.
create table everytab.runs (
    run integer generated always as identity primary key,
    kind everytab.run_kind not null,
    state everytab.run_state not null default 'running',
    lease_ms integer not null check (lease_ms between 10 and 86400000),
    rate integer check (rate > 0),
    deadline_ms bigint check (deadline_ms > 0),
    digests jsonb not null default '{}' check (jsonb_typeof(digests) = 'object'),
    paused_kinds everytab.job_kind[] not null default '{}',
    started_at timestamptz not null default now(),
    finished_at timestamptz
);

insert into everytab.runs (run, kind, state, lease_ms, rate, deadline_ms, digests, paused_kinds,
                           started_at, finished_at)
overriding system value
select scan, 'scan', state, lease_ms, rate, deadline_ms, jsonb_build_object('encoder', encoder),
       paused_kinds, started_at, finished_at
  from everytab.scans;
-- Numbers of scans that were dropped are not given again.
select pg_catalog.setval('everytab.runs_run_seq', last_value, is_called)
  from everytab.scans_scan_seq;

alter table everytab.scans
    alter column scan drop identity,
    drop column state, drop column lease_ms, drop column rate, drop column deadline_ms,
    drop column encoder, drop column paused_kinds, drop column started_at,
    drop column finished_at,
    add foreign key (scan) references everytab.runs (run);

alter table everytab.stages rename column scan to run;
alter table everytab.jobs rename column scan to run;
alter table everytab.jobs rename constraint jobs_scan_kind_part_key to jobs_run_kind_part_key;
alter table everytab.job_results rename column scan to run;
alter index everytab.job_results_scan rename to job_results_run;
alter table everytab.job_events rename column scan to run;
alter index everytab.job_events_scan rename to job_events_run;

-- Earlier versions left the name of the last worker on some jobs without a lease.
update everytab.jobs set worker_id = null where state <> 'leased' and worker_id is not null;
