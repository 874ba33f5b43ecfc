//! The program `everytab-testbed`.
fn main() {}
