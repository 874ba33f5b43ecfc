create or replace function coordinator.utc_text(p_at timestamptz)
returns text language sql stable as $$
    select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
$$;
