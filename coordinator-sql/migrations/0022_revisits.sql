-- Where a fetch has no body of its own, because an earlier record has the same one: when that was
-- stored, and the URL of it where it is another one. No fetch had such a record before.
alter table everytab.fetches add column body_at timestamptz, add column body_url text;

-- True of what is no page: a requisite or a sitemap. Null of pages, and of all before.
alter table everytab.fetches add column is_no_page boolean;
