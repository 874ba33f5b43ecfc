-- Returns a page's words as search finds them: those in its title have more weight. The
-- configuration "simple" does not belong to a language: words are found as they are written, in
-- any case.
create or replace function coordinator.words_of_page(p_title text, p_text text)
returns tsvector language sql immutable parallel safe as $$
    select setweight(to_tsvector('pg_catalog.simple', coalesce(p_title, '')), 'A')
        || setweight(to_tsvector('pg_catalog.simple', p_text), 'D');
$$;
