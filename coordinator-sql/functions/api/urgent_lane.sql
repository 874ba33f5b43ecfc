-- Which rows of links that were submitted together are urgent: of more than one URL none, so that
-- a list is never ahead of a URL that somebody waits for.
create or replace function api.urgent_lane(p_urgent boolean[], p_urls bigint)
returns boolean[] language sql immutable as $$
    select case when p_urls = 1 then p_urgent
                else array_fill(false, array[coalesce(cardinality(p_urgent), 0)]) end;
$$;
