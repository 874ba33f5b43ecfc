-- Returns the URL that links or redirects to a fetched URL. Null for a seed, or if that URL's
-- row does not exist.
create or replace function coordinator.via_of(p_fetch everytab.fetches)
returns text language sql stable as $$
    select coalesce(p_fetch.via, (
        select v.url from everytab.fetches v
         where v.crawl = p_fetch.crawl
           and v.host_hash = coalesce(p_fetch.via_host_hash, p_fetch.host_hash)
           and v.url_hash = p_fetch.via_url_hash));
$$;
