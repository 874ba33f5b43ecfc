create or replace function coordinator.webhook_body(p_type text, p_at timestamptz, p_data json)
returns text language sql stable as $$
    select json_build_object(
        'type', p_type,
        'timestamp', coordinator.utc_text(p_at),
        'data', json_strip_nulls(p_data))::text;
$$;
