create or replace function coordinator.check_chunk(p_chunk integer, p_rows integer)
returns void language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- Workers send at most this many rows per chunk.
    max_rows constant integer := 5000;
    -- This allows 10 million rows. An index file has about 120,000 captures, and a shard has
    -- 60,000 icons.
    max_chunks constant integer := 2000;
begin
    if p_chunk is null or p_chunk not between 1 and max_chunks then
        raise exception 'chunk number % is not between 1 and %', p_chunk, max_chunks
            using errcode = 'invalid_parameter_value';
    end if;
    if p_rows > max_rows then
        raise exception 'a chunk can have at most % rows, not %', max_rows, p_rows
            using errcode = 'invalid_parameter_value';
    end if;
end $$;
