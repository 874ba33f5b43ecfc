-- The configuration "simple" assumes no language.
create or replace function coordinator.words_of_page(p_title text, p_text text)
returns tsvector language sql immutable parallel safe as $$
    select setweight(to_tsvector('pg_catalog.simple', coalesce(p_title, '')), 'A')
        || setweight(to_tsvector('pg_catalog.simple', p_text), 'D');
$$;
