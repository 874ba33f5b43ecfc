-- The roles of workers, which belong to the whole cluster: another database's migration may
-- make them at the same moment. everytab_worker takes every kind of job; the others take some
-- kinds each (functions/queue/role_of_kind.sql), so that a process that reads bytes of the web need
-- not be able to publish. All of them execute functions and touch no table.
--
-- From Postgres 16 on, the role that makes a role becomes its member, with admin option. Amazon
-- RDS lets members of rds_iam sign in by token only, and counts indirect members: an owner who
-- made everytab_worker would lock itself out with `grant rds_iam to everytab_worker`. So the
-- owner makes a role that makes everytab_roles, which makes the workers' roles; then the role
-- between is dropped, and no role that signs in is a member of a worker's role. Later changes
-- of these roles go through everytab_roles.change, which runs as everytab_roles, and which the
-- owner alone may call.
do $$ declare
    -- Each worker keeps a few connections, and a fleet has at most 200 workers; Postgres must keep
    -- some for operators (max_connections is 1,200 in terraform/).
    max_connections constant integer := 1000;
    -- The client ends each call after 60 s; these end what its server still works on.
    limits constant text := 'alter role %1$I connection limit %2$s;
        alter role %1$I set statement_timeout = ''90s'';
        alter role %1$I set lock_timeout = ''60s'';
        alter role %1$I set idle_in_transaction_session_timeout = ''60s'';';
    workers constant text[] := array['everytab_worker', 'everytab_worker_crawl',
                                     'everytab_worker_icons', 'everytab_worker_site'];
    creator_becomes_member constant boolean :=
        current_setting('server_version_num')::integer >= 160000
        and not (select rolsuper from pg_roles where rolname = current_user);
    owner constant name := current_user;
    makes_worker constant boolean :=
        not exists (select from pg_roles where rolname = 'everytab_worker');
    worker text;
    making text := '';
begin
    if exists (select from pg_roles where rolname = 'everytab_worker_site') then
        return;
    end if;
    foreach worker in array workers loop
        if worker <> 'everytab_worker' or makes_worker then
            making := making || format('create role %I login;', worker)
                             || format(limits, worker, max_connections);
        end if;
    end loop;
    making := making || 'grant everytab_worker_crawl, everytab_worker_icons, everytab_worker_site
                            to everytab_worker;';
    if creator_becomes_member then
        create schema if not exists everytab_roles;
        create role everytab_maker nologin createrole;
        execute 'grant everytab_maker to current_user with set true, inherit false';
        set local role everytab_maker;
        create role everytab_roles nologin createrole;
        execute 'grant everytab_roles to current_user with set true, inherit false';
        execute format('set local role %I', owner);
        grant usage, create on schema everytab_roles to everytab_roles;
        set local role everytab_roles;
        execute making;
        create function everytab_roles.change(p_statements text)
        returns void language plpgsql security definer set search_path = pg_catalog, pg_temp
        as 'begin execute p_statements; end';
        revoke all on function everytab_roles.change(text) from public;
        execute format('grant execute on function everytab_roles.change(text) to %I', owner);
        execute format('set local role %I', owner);
        revoke create on schema everytab_roles from everytab_roles;
        drop role everytab_maker;
    else
        execute making;
    end if;
    if not makes_worker then
        execute format(limits, 'everytab_worker', max_connections);
    end if;
exception
    -- Another migration has made them since.
    when duplicate_object or unique_violation then null;
end $$;

-- The role of the HTTP service. It came later than the workers' roles, so it is made as changes of
-- those are: by everytab_roles, where there is one.
do $$ declare
    -- A few processes with a few connections each.
    max_connections constant integer := 100;
    making constant text := format('create role everytab_api login;
        alter role everytab_api connection limit %s;
        alter role everytab_api set statement_timeout = ''90s'';
        alter role everytab_api set lock_timeout = ''60s'';
        alter role everytab_api set idle_in_transaction_session_timeout = ''60s'';',
        max_connections);
begin
    if exists (select from pg_roles where rolname = 'everytab_api') then
        return;
    end if;
    if to_regprocedure('everytab_roles.change(text)') is not null then
        perform everytab_roles.change(making);
    else
        execute making;
    end if;
exception
    -- Another migration has made it since.
    when duplicate_object or unique_violation then null;
end $$;
