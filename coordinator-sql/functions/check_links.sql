-- Raises an error for link rows that our workers never send.
create or replace function coordinator.check_links(
    p_groups smallint[], p_masks integer[], p_urgent boolean[], p_amounts integer[],
    p_data bytea[])
returns void language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- A checkpoint has one row per crawl and slot group, and a few more if one would be too
    -- long.
    max_rows constant integer := 5000;
    rows integer := coalesce(cardinality(p_groups), 0);
begin
    if rows > max_rows or rows <> any (array[
        coalesce(cardinality(p_masks), 0), coalesce(cardinality(p_urgent), 0),
        coalesce(cardinality(p_amounts), 0), coalesce(cardinality(p_data), 0)]) then
        raise exception 'links are at most % rows, each with a value in every array', max_rows
            using errcode = 'invalid_parameter_value';
    end if;
end $$;
