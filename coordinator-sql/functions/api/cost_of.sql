create or replace function api.cost_of(p_urls bigint)
returns double precision language sql immutable as $$
    -- Limit urls_a_request = 100: checking and packing this many takes as long as another
    -- request.
    select 1 + p_urls::double precision / 100;
$$;
