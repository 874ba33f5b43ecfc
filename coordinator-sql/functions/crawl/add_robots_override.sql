-- If p_site is null, the rules apply to every site. Returns false if the owner already has the
-- maximum number.
create or replace function coordinator.add_robots_override(
    p_owner text, p_id uuid, p_site text, p_user_agent text, p_rules text, p_delay_ms integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Every worker reads all overrides every few seconds.
    max_overrides constant integer := 64;
begin
    perform pg_advisory_xact_lock(hashtextextended('robots_overrides:' || p_owner, 0));
    if (select count(*) from robots_overrides o where o.owner = p_owner) >= max_overrides then
        return false;
    end if;
    insert into robots_overrides (id, owner, site, user_agent, rules, delay_ms)
    values (p_id, p_owner, lower(p_site), p_user_agent, p_rules, p_delay_ms);
    return true;
end $$;
