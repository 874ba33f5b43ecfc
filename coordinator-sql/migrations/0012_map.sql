-- The map of all icons has a stage of its own: its jobs draw the tiles, beside the search jobs.
-- Runs of older versions have no such stage, and go on without a map.
alter type everytab.job_kind add value 'map' before 'publish';
