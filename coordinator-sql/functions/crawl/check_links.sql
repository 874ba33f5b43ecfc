create or replace function coordinator.check_links(p_links everytab.link_row[])
returns void language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- A checkpoint has one row per crawl and slot group, and a few more if a row would be too
    -- long.
    max_rows constant integer := 5000;
begin
    if cardinality(p_links) > max_rows then
        raise exception 'too many link rows in a call; the maximum is %', max_rows
            using errcode = 'invalid_parameter_value';
    end if;
end $$;
