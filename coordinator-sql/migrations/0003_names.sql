-- Columns get the words that the rest of the program uses: the worker that has leased a job, and
-- the item that a job under poison-item isolation handles at this moment.

alter table everytab.jobs rename column holder to worker_id;
alter table everytab.jobs rename column in_hand to current_item;
alter table everytab.job_results rename column holder to worker_id;
alter table everytab.job_events rename column holder to worker_id;
alter table everytab.jobs rename constraint jobs_holder_check to jobs_worker_id_check;
alter table everytab.jobs rename constraint jobs_in_hand_check to jobs_current_item_check;
