-- What was excluded from a scan while it ran: a host, a domain with all hosts below it, or a
-- network. Append-only: what was asked of a host before its exclusion stays a fact. Versions count
-- the exclusions of a scan in the order in which they were committed, so a worker asks for those
-- after the last one that it knows.
create table everytab.scan_exclusions (
    scan integer not null references everytab.scans (scan),
    version integer not null check (version > 0),
    kind text not null check (kind in ('hostname', 'suffix', 'network')),
    pattern text not null check (length(pattern) between 1 and 300),
    excluded_at timestamptz not null default clock_timestamp(),
    primary key (scan, version),
    unique (scan, kind, pattern)
);
