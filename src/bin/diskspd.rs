//! `diskspd`: the drop-in command.

use std::process::ExitCode;

use truespd::sys::allocator::EndsInWords;

#[global_allocator]
static ALLOCATOR: EndsInWords = EndsInWords;

fn main() -> ExitCode {
    ExitCode::from(truespd::cli::main("diskspd", truespd::cli::diskspd) as u8)
}
