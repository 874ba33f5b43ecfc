//! The EveryTab worker: one program for every stage of a scan.

pub mod fetch;
