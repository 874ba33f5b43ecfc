-- If the owner is a key, the key's ports are copied into the settings.
create or replace function coordinator.start_crawl(p_crawl everytab.new_crawl)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    owner_is_key text := 'key:';
    ports jsonb := (select jsonb_build_object('ports', to_jsonb(k.ports)) from api_keys k
                     where owner_is_key || k.key = p_crawl.owner);
    new_crawl integer;
begin
    insert into crawls (id, name, owner, store, settings, page_limit, budget_left, ends_at,
                        max_store_bytes)
    values (p_crawl.id, p_crawl.name, p_crawl.owner, p_crawl.store,
            p_crawl.settings || coalesce(ports, '{}'), p_crawl.page_limit, p_crawl.page_limit,
            p_crawl.ends_at, p_crawl.max_store_bytes)
    returning crawl into new_crawl;
    insert into api_crawls (crawl, key)
    select new_crawl, substr(p_crawl.owner, length(owner_is_key) + 1)
     where starts_with(p_crawl.owner, owner_is_key);
    perform coordinator.make_fetches_partition(new_crawl);
    if p_crawl.settings ->> 'search' = 'on' then
        perform coordinator.make_fetches_partition(new_crawl, 'fetch_texts');
    end if;
    perform coordinator.make_links_partitions();
    return new_crawl;
end $$;
