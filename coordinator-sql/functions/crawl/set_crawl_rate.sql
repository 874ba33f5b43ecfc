-- p_id is null for all of an owner's crawls together, and p_owner is null for an operator, who
-- may change any single crawl. p_name is rate (requests per second) or min_delay_ms. Null
-- removes the limit.
create or replace function coordinator.set_crawl_rate(
    p_owner text, p_id uuid, p_name text, p_value double precision)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    is_rate boolean := p_name = 'rate';
    new_rate double precision := case when is_rate then p_value end;
    new_delay_ms integer := case when not is_rate then p_value end;
begin
    if p_name not in ('rate', 'min_delay_ms') then
        raise exception 'unknown rate limit %', p_name
            using errcode = 'invalid_parameter_value';
    elsif p_id is null then
        insert into owner_limits as l (owner, rate, min_delay_ms)
        values (p_owner, new_rate, new_delay_ms)
        on conflict (owner) do update
           set rate = case when is_rate then excluded.rate else l.rate end,
               min_delay_ms = case when is_rate then l.min_delay_ms
                                   else excluded.min_delay_ms end;
        return true;
    end if;
    update crawls c
       set rate = case when is_rate then new_rate else c.rate end,
           min_delay_ms = case when is_rate then c.min_delay_ms else new_delay_ms end
     where c.id = p_id and c.state <> 'ended' and c.owner = coalesce(p_owner, c.owner);
    return found;
end $$;
