-- A slot's deaths are the number of consecutive holders that died before they recorded a
-- checkpoint. Suspects with two deaths are leased first, a few together and at least one even
-- beyond the worker's share. They are leased only to a worker whose other slots have no deaths,
-- so that its death does not make any of them a suspect. A slot with more deaths is leased alone.
create or replace function coordinator.lease_slots(p_worker text, p_wanted integer)
returns table (slot smallint, lease_number integer, lease_token uuid, lease_ms integer,
               deaths smallint, is_isolated boolean, cursor text, urgent_cursor text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- Within this time a worker can renew five times.
    lease_ms constant integer := 30000;
    -- A slot with this many deaths in a row is a suspect, and is leased only together with
    -- other suspects.
    suspect_deaths constant integer := 2;
    -- Suspects that are leased together. After two quick deaths all 256 slots may be suspects,
    -- and a slot needs up to 10 seconds for its first checkpoint: one at a time, this would
    -- take 40 minutes, and in groups of this size three.
    suspects_together constant integer := 16;
    share integer;
    held integer;
    holds_suspect boolean;
    is_proved boolean;
begin
    insert into workers as w (worker, seen_at) values (p_worker, clock_timestamp())
        on conflict (worker) do update set seen_at = excluded.seen_at;
    perform coordinator.sweep_slots();
    if not exists (select from crawls c where c.state <> 'ended') then
        return;
    end if;
    share := (coordinator.share_of_slots()).share;
    select count(*), coalesce(bool_or(s.deaths >= suspect_deaths), false),
           coalesce(bool_and(s.deaths = 0), true)
      into held, holds_suspect, is_proved from slots s where s.holder = p_worker;
    if holds_suspect then
        return;
    end if;
    return query
    with free as materialized (
        select f.slot from slots f
         where f.lease_token is null and f.deaths < suspect_deaths
         order by f.deaths, random()
         limit greatest(least(p_wanted, share - held), 0) for no key update skip locked),
    suspect as materialized (
        select f.slot from slots f
         where f.lease_token is null and f.deaths >= suspect_deaths and is_proved
           and (f.deaths = suspect_deaths or not exists (
               select from slots o where o.lease_token is null and o.deaths = suspect_deaths))
         order by random()
         limit least(p_wanted, case when exists (
             select from slots o where o.lease_token is null and o.deaths = suspect_deaths)
             then least(suspects_together, greatest(share - held, 1)) else 1 end)
         for no key update skip locked),
    taken as (
        select coalesce(nullif(array(select f.slot from suspect f), '{}'),
                        array(select f.slot from free f)) as slots)
    update slots s
       set lease_number = s.lease_number + 1, checkpoint = 0,
           -- The token starts with the timeline, which check_slot compares.
           lease_token = overlay(gen_random_uuid()::text placing coordinator.timeline()
                                 from 1)::uuid,
           holder = p_worker, lease_until = clock_timestamp() + lease_ms * interval '1 ms'
      from taken
     where s.slot = any (taken.slots) and s.lease_token is null
    returning s.slot, s.lease_number, s.lease_token, lease_ms, s.deaths,
              coalesce(s.isolated_until > clock_timestamp(), false), s.cursor::text,
              s.urgent_cursor::text;
end $$;
