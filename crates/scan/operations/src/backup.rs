//! `backup` and `restore`: copy the database and a finished scan's objects to a separate store, and
//! back.
//!
//! A backup contains `database.dump` (pg_dump, custom format), `site/<key>`, `archive/<key>`, and
//! `backup.json`, which lists all objects with size and SHA-256, and every table with its row count
//! and digest. Until it is written, notes in `progress/` list the copied objects, so that an
//! interrupted backup continues where it stopped.
//!
//! Live crawls may run during a backup. The dump contains a snapshot of them, but their records are
//! not copied.

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
