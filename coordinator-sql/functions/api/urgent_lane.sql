-- Returns which rows of links that were submitted together are urgent: if there is more than
-- one URL, none is, so that a list never overtakes a URL for which a client waits.
create or replace function api.urgent_lane(p_urgent boolean[], p_urls bigint)
returns boolean[] language sql immutable as $$
    select case when p_urls = 1 then p_urgent
                else array_fill(false, array[coalesce(cardinality(p_urgent), 0)]) end;
$$;
