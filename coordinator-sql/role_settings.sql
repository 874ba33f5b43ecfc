-- Selects the workers' and the service's roles whose settings differ from roles.sql, with the
-- statements that reset them. A role may change its own settings, so a stolen token could make
-- all later sessions with its role read-only.
with changed as (
    select r.rolname,
           case when not coalesce(r.rolconfig @> usual.settings and r.rolconfig <@ usual.settings,
                                  false)
                then coalesce(array_to_string(r.rolconfig, ', '), 'no settings') end as everywhere,
           array_to_string(s.setconfig, ', ') as here
      from pg_roles r
     cross join (values (array['statement_timeout=90s', 'lock_timeout=60s',
                               'idle_in_transaction_session_timeout=60s'])) usual (settings)
      left join pg_db_role_setting s on s.setrole = r.oid
       and s.setdatabase = (select d.oid from pg_database d where d.datname = current_database())
     where r.rolname in ('everytab_worker', 'everytab_worker_crawl', 'everytab_worker_icons',
                         'everytab_worker_site', 'everytab_api')
), resets as (
    select c.rolname,
           concat_ws('; ', c.everywhere, c.here || ' in this database') as found,
           case when c.everywhere is null then '' else format(
               'alter role %1$I reset all; alter role %1$I set statement_timeout = ''90s''; '
               'alter role %1$I set lock_timeout = ''60s''; '
               'alter role %1$I set idle_in_transaction_session_timeout = ''60s''; ',
               c.rolname) end
           || case when c.here is null then '' else format(
               'alter role %I in database %I reset all; ', c.rolname, current_database()) end
               as statements
      from changed c
     where c.everywhere is not null or c.here is not null
)
select r.rolname::text, r.found,
       case when to_regprocedure('everytab_roles.change(text)') is null then r.statements
            else format('select everytab_roles.change(%L)', r.statements) end
  from resets r order by r.rolname;
