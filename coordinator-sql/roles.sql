-- Creates the worker roles. Roles belong to the whole cluster, so a migration of another
-- database may create them at the same time. Each role but everytab_worker can take only some
-- kinds of jobs (functions/queue/role_of_kind.sql), so that a process that reads untrusted
-- bytes from the web need not be able to publish.
--
-- Since Postgres 16, a role that creates another role becomes a member of it. On Amazon RDS,
-- members of rds_iam, even indirect ones, can sign in only with a token. If the owner created
-- everytab_worker, the owner would lock itself out with `grant rds_iam to everytab_worker`.
-- Therefore the owner creates the role everytab_maker, everytab_maker creates everytab_roles,
-- and everytab_roles creates the worker roles. everytab_maker is then dropped, so that the
-- owner is not a member of a worker role. Later changes to the worker roles use
-- everytab_roles.change, which runs as everytab_roles.
do $$ declare
    -- A fleet has at most 200 workers with a few connections each, and some connections must
    -- remain for operators (max_connections is 1,200 in terraform/).
    max_connections constant integer := 1000;
    -- The client cancels each call after 60 s. These timeouts stop a call that the server is
    -- still executing.
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
    -- Another migration has just created the roles.
    when duplicate_object or unique_violation then null;
end $$;

-- If everytab_roles.change exists, it creates the role, for the reason given above.
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
    when duplicate_object or unique_violation then null;
end $$;
