create or replace function coordinator.sum_counts(p_counts jsonb)
returns bigint language sql immutable set search_path = everytab, pg_temp as $$
    select coalesce(sum(amount::bigint), 0)::bigint from jsonb_each_text(p_counts) c (name, amount);
$$;
