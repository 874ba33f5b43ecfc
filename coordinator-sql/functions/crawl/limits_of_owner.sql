-- Restricts the owner's own limits by the operator's for the key. Null means unlimited.
create or replace function coordinator.limits_of_owner(
    p_owner text, out rate double precision, out min_delay_ms integer)
language sql stable set search_path = everytab, pg_temp as $$
    select least(l.rate, k.rate), nullif(greatest(l.min_delay_ms, k.min_delay_ms), 0)
      from (values (p_owner)) o (owner)
      left join owner_limits l on l.owner = o.owner
      left join api_keys k on k.key = substr(o.owner, 5) and starts_with(o.owner, 'key:');
$$;
