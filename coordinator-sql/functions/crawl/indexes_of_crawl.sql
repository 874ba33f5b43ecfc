create or replace function coordinator.indexes_of_crawl(p_state text, p_run integer)
returns text language sql stable as $$
    select case
        when p_state <> 'ended' then null
        when p_run is null then 'none'
        else (select case r.state when 'finished' then 'written'
                                  when 'finished_with_discards' then 'incomplete'
                                  when 'cancelled' then 'cancelled'
                                  else 'pending' end
                from everytab.runs r where r.run = p_run) end;
$$;
