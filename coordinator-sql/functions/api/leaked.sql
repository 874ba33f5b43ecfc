-- If the clock was set back, nothing leaks.
create or replace function api.leaked(
    p_level double precision, p_at timestamptz, p_per_second double precision,
    p_now timestamptz)
returns double precision language sql immutable as $$
    select greatest(0, p_level - p_per_second * greatest(0, extract(epoch from p_now - p_at)));
$$;
