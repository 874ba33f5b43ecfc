-- What a request costs that submits so many URLs together.
create or replace function api.cost_of(p_urls bigint)
returns double precision language sql immutable as $$
    -- Limit urls_a_request = 100: checking and packing so many takes as long as another request.
    select 1 + p_urls::double precision / 100;
$$;
