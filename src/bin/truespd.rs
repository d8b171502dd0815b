//! `truespd`: the command with subcommands.

use std::process::ExitCode;

use truespd::sys::allocator::EndsInWords;

#[global_allocator]
static ALLOCATOR: EndsInWords = EndsInWords;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let name = args.next().map_or_else(|| "truespd".into(), |n| n.to_string_lossy().into_owned());
    let args: Vec<_> = args.collect();
    let program = truespd::cli::Program { name };
    ExitCode::from(truespd::cli::truespd(&program, &args) as u8)
}
