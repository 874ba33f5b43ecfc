-- The caller is session_user, the role that signed in, because current_user is the functions'
-- owner here. The functions' owner may lease every kind.
create or replace function coordinator.check_kinds(p_kinds everytab.job_kind[])
returns void language plpgsql stable set search_path = everytab, pg_temp as $$
declare
    refused text;
begin
    if pg_has_role(session_user, current_user, 'usage') then
        return;
    end if;
    select asked.kind::text into refused from unnest(p_kinds) as asked (kind)
     where not pg_has_role(session_user, coordinator.role_of_kind(asked.kind), 'usage') limit 1;
    if found then
        raise exception 'role % may not take jobs of kind %', session_user, refused
            using errcode = 'insufficient_privilege',
                  hint = 'sign in as everytab_worker, or name the kinds with --role';
    end if;
end $$;
