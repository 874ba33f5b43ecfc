//! Fetches URLs from the live web: names, connections, politeness, robots.txt, one outcome a URL.
//!
//! Must not know: jobs, Postgres.
