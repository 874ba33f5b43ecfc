-- Called after `restore` has copied the scan's site and archive to these stores. Raises an
-- error if the scan has not ended.
create or replace function coordinator.move_scan(p_scan integer, p_site text, p_archive text)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update scans s
       set settings = s.settings || jsonb_build_object('site', p_site, 'archive', p_archive)
      from runs r
     where s.scan = p_scan and r.run = s.scan and r.state not in ('running', 'paused');
    if not found then
        raise exception 'scan % has not ended', p_scan using errcode = 'ET005';
    end if;
end $$;
