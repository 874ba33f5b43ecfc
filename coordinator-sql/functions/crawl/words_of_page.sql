-- Returns a page's words for full-text search. Words in the title have more weight. The
-- configuration "simple" does not assume a language: words are found as they are written, in
-- upper or lower case.
create or replace function coordinator.words_of_page(p_title text, p_text text)
returns tsvector language sql immutable parallel safe as $$
    select setweight(to_tsvector('pg_catalog.simple', coalesce(p_title, '')), 'A')
        || setweight(to_tsvector('pg_catalog.simple', p_text), 'D');
$$;
