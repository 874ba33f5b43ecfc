//! What is published: tabs to bundles, bytes in, values out.
//!
//! Owns which icon of a host is best (`select`, the twin of the SQL), how tabs become bundle files
//! (`layout`, `title`, `bundle`), and the picture of a shared link (`preview`). Everything is a pure
//! function. Must not know files, network, Postgres, clocks, settings or how an icon is decoded.

pub mod bundle;
pub mod layout;
pub mod preview;
pub mod select;
pub mod title;
