//! The drop-in command.
fn main() {}
