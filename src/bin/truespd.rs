//! `truespd`: the command with subcommands.

use std::process::ExitCode;

use truespd::sys::allocator::EndsInWords;

#[global_allocator]
static ALLOCATOR: EndsInWords = EndsInWords;

fn main() -> ExitCode {
    ExitCode::from(truespd::cli::main("truespd", truespd::cli::truespd) as u8)
}
