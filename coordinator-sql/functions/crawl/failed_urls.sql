-- Reads at most p_limit rows after a position (null: from the first), and returns each of them,
-- with a null url if the URL is not worth another request.
create or replace function coordinator.failed_urls(
    p_crawl integer, p_after text, p_limit integer)
returns table ("position" text, url text)
language plpgsql stable security definer set search_path = everytab, pg_temp
-- As in api.feed.
set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
    after text[] := string_to_array(coalesce(p_after, ' 0 0 0'), ' ');
begin
    return query
    select concat_ws(' ', f.outcome, f.epoch, f.xid, f.id),
           case when f.is_no_page is null
                 and (coordinator.ending_of(f.outcome, f.bytes) = 'failed'
                      or f.outcome in ('origin_dead', 'host_dead', 'robots_unreachable',
                                       'retry_after_too_long'))
                 -- Exclude a seed that was given as a hostname if its http URL responded.
                 and not (f.depth = 0 and f.url like 'https://%' and exists (
                     select from fetches over_http
                      where over_http.crawl = f.crawl and over_http.host_hash = f.host_hash
                        and over_http.via_url_hash = f.url_hash and over_http.status is not null
                        and over_http.depth = 0 and over_http.url like 'http://%'))
                then f.url end
      from fetches f
     where f.crawl = p_crawl
       -- This is the condition of the index fetches_uncaptured.
       and f.outcome not in ('ok', 'redirected', 'empty_body', 'not_modified')
       and (f.outcome, f.epoch, f.xid, f.id)
           > (after[1], after[2]::smallint, after[3]::xid8, after[4]::bigint)
     order by f.outcome, f.epoch, f.xid, f.id limit p_limit;
end $$;
