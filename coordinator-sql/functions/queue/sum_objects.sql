create or replace function coordinator.sum_objects(p_objects jsonb[])
returns jsonb language sql immutable set search_path = everytab, pg_temp as $$
    select coalesce(jsonb_object_agg(name, amount), '{}')
      from (select counts.name, sum(counts.amount::bigint) as amount
              from unnest(p_objects) o (object), jsonb_each_text(o.object) counts (name, amount)
             group by counts.name) summed;
$$;
