-- A schedule is due at p_anchor and every p_every_s seconds from then on, or at second p_at_s
-- of the UTC day on the weekdays in a mask whose first bit is Monday.
create or replace function coordinator.next_time(
    p_anchor timestamptz, p_every_s integer, p_at_s integer, p_weekdays smallint,
    p_after timestamptz)
returns timestamptz language sql stable set search_path = everytab, pg_temp as $$
    select case when p_every_s is not null then
        p_anchor + make_interval(secs => p_every_s) * greatest(0,
            floor(extract(epoch from p_after - p_anchor) / p_every_s) + 1)::double precision
    else (
        select min(d.at)
          from (select (date_trunc('day', p_after at time zone 'UTC')
                        + make_interval(days => n, secs => p_at_s))
                           at time zone 'UTC' as at
                  from generate_series(0, 7) n) d
         where d.at > p_after
           and p_weekdays & (1 << (extract(isodow from d.at at time zone 'UTC')::integer - 1)) <> 0)
    end;
$$;
