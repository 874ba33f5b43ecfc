create or replace function api.refuse(p_code text, p_detail jsonb)
returns void language plpgsql as $$
begin
    raise exception using errcode = 'ET010', message = p_code,
        detail = coalesce(p_detail::text, '');
end $$;
