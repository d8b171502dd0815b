//! The other command.
fn main() {}
