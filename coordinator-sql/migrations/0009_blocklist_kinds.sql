-- The blocklist knows icons by the SHA-256 of their bytes, and holds imported lists: public
-- lists of malware and phishing hosts, of a million names. Patterns of such a list say its
-- name; those that an operator added have none.

alter table everytab.blocklist
    drop constraint blocklist_kind_check,
    add constraint blocklist_kind_check
        check (kind in ('hostname', 'suffix', 'title', 'sha256')),
    add column list text;

create table everytab.imported_lists (
    list text primary key check (length(list) between 1 and 100),
    source text not null check (length(source) between 1 and 1000),
    imported_at timestamptz not null default now(),
    patterns bigint not null check (patterns >= 0)
);

-- import_list keeps both tables in step; a foreign key would cost a trigger for each of a million
-- rows.
create index blocklist_list on everytab.blocklist (list) where list is not null;

-- An icon job gets the patterns that operators added, and requests nothing from these hosts;
-- imported ones are a million, and are compared where hosts are loaded.
alter table everytab.scan_blocklist add column imported boolean not null default false;
create index scan_blocklist_by_hand on everytab.scan_blocklist (scan, kind) where not imported;
