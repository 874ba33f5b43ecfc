-- Returns running if a run with one of these job kinds is running or paused, and otherwise the
-- newest such run's state.
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
