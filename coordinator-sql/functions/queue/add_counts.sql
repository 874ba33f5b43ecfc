create or replace function coordinator.add_counts(p_counts jsonb, p_more jsonb)
returns jsonb language sql immutable set search_path = everytab, pg_temp as $$
    select case when p_more is null or p_more = '{}' then p_counts else
        (select jsonb_object_agg(name, amount)
           from (select name, sum(amount::bigint) as amount
                   from (select * from jsonb_each_text(p_counts)
                         union all select * from jsonb_each_text(p_more)) added (name, amount)
                  group by name) summed) end;
$$;
