//! The program `everytab-worker`.
fn main() {}
