//! `backup` and `restore`: copy the database and a scan's objects to a separate store, and back.
//!
//! A backup holds `database.dump` (pg_dump, custom format), `site/<key>`, `archive/<key>`, and,
//! written last, `backup.json`. This lists all objects with size and SHA-256, and every table with
//! its row count and digest. Until it exists, notes in `progress/` list the copied objects, so that
//! an interrupted backup continues where it stopped.
//!
//! Live crawls may run during a backup: the dump is a snapshot of them, from which a restored
//! database continues. Their records are not copied.
//!
//! Invariants: only a finished scan is backed up; memory is bounded regardless of the scan's size,
//! except for the list itself (about 200 bytes per object); a restore writes only objects whose
//! size and digest match `backup.json`.

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
