-- If the crawl's stores are divided by slots, this returns the store for the fetch's slot.
create or replace function api.describe(
    p_crawl everytab.crawls, p_fetch everytab.fetches, p_host bigint, p_url bigint)
returns everytab.api_fetch language sql stable as $$
    select row(
        p_crawl.crawl, p_crawl.id, p_crawl.name, coalesce(
            (select r ->> 'store' from jsonb_array_elements(p_crawl.settings -> 'stores') r
              where p_fetch.slot between (r ->> 'first')::integer and (r ->> 'last')::integer),
            p_crawl.store),
        p_crawl.settings ->> 'media_store', p_host, p_url,
        case when p_fetch.outcome is not null
             then coordinator.ending_of(p_fetch.outcome, p_fetch.bytes)
             when p_crawl.state = 'ended' then 'left' else 'due' end,
        case when p_fetch.outcome is null then p_crawl.ended_by end,
        p_fetch.url, p_fetch.at, p_fetch.duration_ms, p_fetch.depth, p_fetch.status,
        p_fetch.outcome, p_fetch.bytes, said.sha256, p_fetch.mime, p_fetch.charset,
        p_fetch.language, said.title, said.redirect,
        (select a.object from everytab.crawl_archives a where a.archive = p_fetch.archive),
        p_fetch.record_offset, p_fetch.record_length,
        (select a.object from everytab.crawl_archives a where a.archive = p_fetch.body_archive),
        p_fetch.body_offset, p_fetch.body_length, p_fetch.truncated,
        coordinator.via_of(p_fetch), p_fetch.certificate)::everytab.api_fetch
      from (select coordinator.is_fetch_forgotten(p_fetch) as is_forgotten) f
     cross join lateral (
           select case when not f.is_forgotten then p_fetch.sha256 end as sha256,
                  case when not f.is_forgotten then p_fetch.title end as title,
                  case when not f.is_forgotten then p_fetch.redirect end as redirect) said;
$$;
