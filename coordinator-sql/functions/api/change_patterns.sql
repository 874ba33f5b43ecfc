create or replace function api.change_patterns(
    p_key text, p_secret bytea, p_id uuid, p_version integer, p_include jsonb, p_exclude jsonb)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    word text;
begin
    perform api.check_key(p_key, p_secret, 1);
    perform api.own_crawl(p_key, p_id);
    word := (coordinator.change_patterns(p_id, p_version, p_include, p_exclude)).word;
    if word = 'ended' then
        perform api.refuse('crawl_ended', null);
    elsif word = 'full' then
        perform api.refuse('not_allowed', jsonb_build_object(
            'reason', 'the patterns of the crawl have changed too often'));
    end if;
    return word;
end $$;
