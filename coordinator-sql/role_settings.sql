-- Resets settings of the workers' and the service's roles, because a role may change its own: a
-- stolen token could make all later sessions of its role read only. Migrating runs this each time,
-- and changes nothing where the settings are those of roles.sql.
do $$ declare
    usual constant text[] := array['statement_timeout=90s', 'lock_timeout=60s',
                                   'idle_in_transaction_session_timeout=60s'];
    making text := '';
    setting text;
    changed record;
begin
    for changed in
        select r.rolname, d.datname
          from pg_roles r
          left join pg_db_role_setting s on s.setrole = r.oid and s.setdatabase <> 0
          left join pg_database d on d.oid = s.setdatabase and d.datname = current_database()
         where r.rolname in ('everytab_worker', 'everytab_worker_crawl', 'everytab_worker_icons',
                             'everytab_worker_site', 'everytab_api')
           and (d.datname is not null
                or not coalesce(r.rolconfig @> usual and r.rolconfig <@ usual, false))
    loop
        making := making || format('alter role %I reset all;', changed.rolname);
        if changed.datname is not null then
            making := making || format('alter role %I in database %I reset all;',
                                       changed.rolname, changed.datname);
        end if;
        foreach setting in array usual loop
            making := making || format('alter role %I set %s = %L;', changed.rolname,
                                       split_part(setting, '=', 1), split_part(setting, '=', 2));
        end loop;
    end loop;
    if making <> '' and to_regprocedure('everytab_roles.change(text)') is not null then
        perform everytab_roles.change(making);
    elsif making <> '' then
        execute making;
    end if;
end $$;
