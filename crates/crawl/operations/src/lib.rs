//! Operations on live crawls that an operator runs: report, drop, gc, and filter list import. Each
//! returns a value or writes lines to a `LineSink`.
//!
//! ```
//! use everytab_crawl_operations::filter_list;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = std::env::temp_dir().join(format!("list-{}", std::process::id()));
//! std::fs::write(&folder, "# nothing but a comment\n")?;
//! let refused = filter_list::read(&folder).unwrap_err();
//! assert!(refused.message.contains("no entries found"), "{}", refused.message);
//! std::fs::remove_file(&folder)?;
//! # Ok(())
//! # }
//! ```

pub mod crawl_drop;
pub mod crawl_gc;
pub mod crawl_report;
pub mod filter_list;
