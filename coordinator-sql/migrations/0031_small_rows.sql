-- Columns of icons that no function reads: pages.candidates has what a page declares, and the
-- counts by source are in job_results. The columns leave the catalog at once. Rows that are there
-- keep their bytes until their scan is dropped.
alter table everytab.icons
    drop column declared_type, drop column declared_sizes, drop column source,
    drop column duration_ms;
-- The limits on the other columns went with those.
alter table everytab.icons
    add constraint icons_lengths check (
        length(content_type) <= 300
        and archive_offset < 1099511627776 and archive_length <= 1073741824) not valid;

-- Archive objects that were written before are named by shard and lease number; from now on a part
-- of the lease's token is in the name too, because two leases have one number after a failover that
-- lost the last commits. The default of the existing rows needs no rewrite.
alter table everytab.job_results add column archive_has_token boolean not null default false;
alter table everytab.job_results alter column archive_has_token set default true;
