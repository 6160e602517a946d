//! The certifier process.
fn main() {}
