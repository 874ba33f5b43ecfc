-- Skips forgotten pages and those on blocked hosts. The snippet marks matching words with
-- U+0002 and U+0003, which no page text contains.
create or replace function api.search(
    p_key text, p_secret bytea, p_crawl uuid, p_query text, p_limit integer,
    p_after_rank double precision, p_after_crawl integer, p_after_host bigint, p_after_url bigint)
returns table (rank real, snippet text, page everytab.api_fetch)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Pages per response.
    max_rows constant integer := 100;
    -- Number of newest crawls that are searched, as in find_capture.
    max_crawls constant integer := 2000;
    -- Maximum pages that are ranked, because ranking reads each page's words.
    max_ranked constant integer := 5000;
    -- Number of characters per page in which a snippet is searched.
    snippet_characters constant integer := 16384;
    -- Maximum words in a part of a snippet, which is a line or two.
    max_words constant integer := 24;
    options constant text := format(
        'MaxFragments=2, MaxWords=%s, MinWords=8, FragmentDelimiter=" … ", StartSel=%s, StopSel=%s',
        max_words, chr(2), chr(3));
    wanted tsquery := websearch_to_tsquery('pg_catalog.simple', p_query);
    only_crawl integer;
    own integer[];
begin
    perform api.check_reader(p_key, p_secret, 1);
    if p_crawl is not null then
        only_crawl := (api.own_crawl(p_key, p_crawl)).crawl;
    end if;
    own := array(select a.crawl from api_crawls a
                  where a.key = p_key and (only_crawl is null or a.crawl = only_crawl)
                  order by a.crawl desc limit max_crawls);
    return query
    with matching as materialized (
        select t.crawl, t.host_hash, t.url_hash, ts_rank_cd(t.words, wanted, 1) as score
          from fetch_texts t
         where t.words @@ wanted and t.crawl = any (own) limit max_ranked),
    best as materialized (
        select m.score, f
          from matching m
          join fetches f on f.crawl = m.crawl and f.host_hash = m.host_hash
                        and f.url_hash = m.url_hash
         where not coordinator.is_host_blocked(coordinator.host_of_url(f.url))
           and not coordinator.is_fetch_forgotten(f)
           and (p_after_rank is null or m.score < p_after_rank
                or m.score = p_after_rank
                   and (-f.crawl, f.host_hash, f.url_hash)
                       > (-p_after_crawl, p_after_host, p_after_url))
         order by m.score desc, f.crawl desc, f.host_hash, f.url_hash
         limit greatest(1, least(p_limit, max_rows)))
    select b.score,
           ts_headline('pg_catalog.simple', left(t.text, snippet_characters), wanted, options), d
      from best b
      join crawls c on c.crawl = (b.f).crawl
      join fetch_texts t on t.crawl = (b.f).crawl and t.host_hash = (b.f).host_hash
                        and t.url_hash = (b.f).url_hash
     cross join lateral api.describe(c, b.f, (b.f).host_hash, (b.f).url_hash) d
     order by b.score desc, (b.f).crawl desc, (b.f).host_hash, (b.f).url_hash;
end $$;
