//! `backup` and `restore`: the database and a scan's objects to a store of their own, and back.
//!
//! A backup holds `database.dump` (pg_dump, custom format), `site/<key>`, `archive/<key>`, and,
//! written last, `backup.json`, which lists all of them with size and SHA-256, and every table with
//! its rows and a digest of them. Until that object exists, notes in `progress/` list what has been
//! copied, so that an interrupted backup continues where it stopped.
//!
//! Live crawls may run meanwhile: the dump has them as they were at one moment, and a restored
//! database goes on from there. Their records are not copied.
//!
//! Invariants: only a scan that has ended is backed up; memory is bounded, whatever the scan's
//! size, except for the list itself (about 200 bytes per object); a restore writes only objects
//! whose size and digest are those in `backup.json`.

mod copy;
mod format;
mod postgres_programs;
mod restore;
mod rows;
mod save;
mod verify;

pub use self::{
    restore::{RestoreOptions, restore},
    save::{BackupOptions, backup},
    verify::Verification,
};
