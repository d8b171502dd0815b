//! `truespd`: the command with subcommands.

use std::process::ExitCode;

use truespd_platform::sys::program::EndsInWords;

#[global_allocator]
static ALLOCATOR: EndsInWords = EndsInWords;

fn main() -> ExitCode {
    ExitCode::from(truespd_front::program::main("truespd", truespd::cli::truespd) as u8)
}
