-- Rejects a key that is unknown, has another secret or was revoked, always with the same code.
-- Also rejects a request that does not fit into the key's leaky bucket. A request that costs
-- more than burst fits once the bucket is empty. If p_cost is positive, locks the key's usage
-- row, so that requests for one key run one after another.
create or replace function api.check_key(p_key text, p_secret bytea, p_cost double precision)
returns everytab.api_keys language plpgsql set search_path = everytab, pg_temp as $$
declare
    key_row api_keys;
    usage api_usage;
    now_at timestamptz;
    new_level double precision;
begin
    select * into key_row from api_keys k
     where k.key = p_key and k.secret_sha256 = p_secret and k.revoked_at is null;
    if not found then
        perform api.refuse('unauthorized', null);
    end if;
    if p_cost <= 0 then
        return key_row;
    end if;
    select * into usage from api_usage u where u.key = p_key for no key update;
    now_at := greatest(usage.at, clock_timestamp());
    new_level := api.leaked(usage.level, usage.at, key_row.requests_per_second, now_at)
                 + least(p_cost, key_row.burst);
    if new_level > key_row.burst then
        perform api.refuse('throttled', jsonb_build_object(
            'retry_after_s', ceil((new_level - key_row.burst) / key_row.requests_per_second),
            'free_after_s', (new_level - least(p_cost, key_row.burst) + 1 - key_row.burst)
                            / key_row.requests_per_second));
    end if;
    update api_usage u set level = new_level, at = now_at where u.key = p_key;
    return key_row;
end $$;
