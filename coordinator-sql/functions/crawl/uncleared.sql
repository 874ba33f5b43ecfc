-- Includes cleared entries if a fetch was recorded later, for a request that was sent before
-- the URL was forgotten.
create or replace function coordinator.uncleared()
returns table (number integer, kind text, name text, forgotten_at timestamptz)
language sql stable set search_path = everytab, pg_temp as $$
    select g.number, g.kind, g.name, g.forgotten_at from forgotten g
     where g.cleared_at is null
        or exists (select from coordinator.forgotten_fetches(g.number) f
                    where f.sha256 is not null)
     order by g.number;
$$;
