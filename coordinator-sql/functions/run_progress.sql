-- Where the work of some kinds of job stands, for a worker that takes these and leaves when it is
-- done: running while a run with a stage of one of them is running or paused, otherwise the state
-- of the newest such run, and null when there was none.
create or replace function coordinator.run_progress(p_kinds text[])
returns text language sql stable security definer set search_path = everytab, pg_temp as $$
    with concerned as (
        select r.run, r.state from runs r
         where exists (select from stages st
                        where st.run = r.run and st.kind = any (p_kinds::job_kind[])))
    select coalesce(
        (select 'running' from concerned c where c.state in ('running', 'paused') limit 1),
        (select c.state::text from concerned c order by c.run desc limit 1));
$$;
