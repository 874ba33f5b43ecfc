-- Returns why an owner's crawls must pause, as a value for crawls.paused_by. Null if they may
-- run.
create or replace function coordinator.hold_of_owner(p_owner text)
returns text language plpgsql set search_path = everytab, pg_temp as $$
declare
    key_row api_keys;
    used record;
begin
    if not starts_with(p_owner, 'key:') then
        return null;
    end if;
    select * into key_row from api_keys k where k.key = substr(p_owner, length('key:') + 1);
    if not found then
        return null;
    elsif key_row.revoked_at is not null then
        return 'key_revoked';
    end if;
    used := coordinator.key_use(key_row.key);
    return case when used.pages_today >= key_row.pages_a_day then 'quota_pages'
                when used.bytes_kept >= key_row.max_bytes then 'quota_bytes' end;
end $$;
