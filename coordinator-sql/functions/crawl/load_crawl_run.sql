create or replace function coordinator.load_crawl_run(p_run integer)
returns table (crawl integer, id uuid, name text, ended_by text, store text, settings jsonb,
               started_at timestamptz, finished_at timestamptz, parts integer)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select c.crawl, c.id, c.name, c.ended_by, c.store, c.settings, c.started_at, c.finished_at,
           (select count(*) from jobs j where j.run = p_run and j.kind = 'crawl-index')::integer
      from crawls c where c.run = p_run;
$$;
