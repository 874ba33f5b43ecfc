-- Limits on what one worker can write: a stolen token must not fill the disk, nor make the scan
-- read what it should not. Rows of older versions stay as they are (not valid). A title has at most
-- 300 characters; the candidates of a page are at most 51 URLs and 64 KiB of data: URLs.

alter table everytab.scans
    add constraint scans_settings_size check (octet_length(settings::text) <= 65536) not valid;

alter table everytab.job_results
    add constraint job_results_stats_size check (octet_length(stats::text) <= 1048576) not valid;

alter table everytab.hosts
    add constraint hosts_warc_range
        check (warc_offset < 1099511627776 and warc_length <= 1073741824) not valid;

alter table everytab.pages
    add constraint pages_lengths check (
        length(hostname) <= 253 and length(framing_rule) <= 100 and length(charset) <= 100
        and length(title_state) <= 100 and length(title) <= 1000
        and octet_length(candidates::text) <= 1048576) not valid;

alter table everytab.icons
    add constraint icons_lengths check (
        length(content_type) <= 300 and length(declared_type) <= 1000
        and length(declared_sizes) <= 1000
        and archive_offset < 1099511627776 and archive_length <= 1073741824) not valid;
