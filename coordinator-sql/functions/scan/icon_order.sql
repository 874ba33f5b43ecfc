-- The icon with the smallest array is the best. Apple touch icons are last. Icons with at least
-- 32 px precede smaller ones, the smallest of them first, where SVG counts as 32 px. Smaller
-- icons follow, the largest of them first, and then icons with an unknown width or height. The
-- caller breaks ties by the URL's bytes.
create or replace function coordinator.icon_order(
    p_touch boolean, p_content_type text, p_width integer, p_height integer, p_bytes integer)
returns integer[] language sql immutable as $$
    select array[
        p_touch::integer,
        case when svg then 0 when side is null then 2 when side >= 32 then 0 else 1 end,
        case when svg then 32 when side is null then 0 when side >= 32 then side else -side end,
        coalesce(p_width <> p_height, false)::integer,
        case when p_content_type = 'image/png' then 0
             when svg then 1
             when p_content_type = 'image/x-icon' then 2
             when p_content_type in ('image/gif', 'image/jpeg', 'image/bmp') then 3
             when p_content_type = 'image/webp' then 4
             else 5 end,
        coalesce(p_bytes, 2147483647)]
      from (select p_content_type is not distinct from 'image/svg+xml' as svg,
                   case when p_width is not null and p_height is not null
                        then least(p_width, p_height) end as side) measured;
$$;
