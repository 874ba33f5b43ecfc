//! `backup` and `restore`: copy the database and a scan's objects to a separate store, and back.
//!
//! A backup holds `database.dump` (pg_dump, custom format), `site/<key>`, `archive/<key>`, and
//! `backup.json`. This last file lists all objects with size and SHA-256, and every table with its
//! row count and digest. Until it is written, notes in `progress/` list the copied objects, so that
//! an interrupted backup continues where it stopped.
//!
//! Live crawls may run during a backup. The dump contains a snapshot of these crawls, from which a
//! restored database continues. Their records are not copied.
//!
//! Invariants: only a finished scan is backed up. Memory is bounded regardless of the scan's size,
//! except for the list itself (about 200 bytes per object). A restore writes only objects whose
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
