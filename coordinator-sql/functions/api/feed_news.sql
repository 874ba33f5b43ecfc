-- Returns the array positions (from 1) of the feeds that have rows after the given position, or
-- whose crawl has ended.
create or replace function api.feed_news(
    p_keys text[], p_secrets bytea[], p_ids uuid[], p_epochs smallint[], p_snapshots text[])
returns table (number bigint)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select x.number
      from unnest(p_keys, p_secrets, p_ids, p_epochs, p_snapshots) with ordinality
               x (key, secret, id, epoch, snapshot, number)
      join crawls c on c.id = x.id
      join api_crawls a on a.crawl = c.crawl and a.key = x.key
     where api.is_key(x.key, x.secret)
       and (c.state = 'ended'
            or exists (select from restores r where r.epoch > x.epoch)
            or exists (select from fetches f
                        where f.crawl = c.crawl and f.epoch = x.epoch
                          and f.xid >= pg_snapshot_xmin(x.snapshot::pg_snapshot)
                          and not pg_visible_in_snapshot(f.xid, x.snapshot::pg_snapshot)));
$$;
