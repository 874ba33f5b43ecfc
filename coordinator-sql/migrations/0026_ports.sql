-- The ports that URLs of a key may name. Its crawls have them among their settings, so that every
-- worker follows links to these ports alone, and URLs are refused before they are submitted.
alter table everytab.api_keys
    add column ports integer[] not null default '{80,443,8080,8443}'
        check (cardinality(ports) between 1 and 64 and 0 < all (ports) and 65536 > all (ports));
