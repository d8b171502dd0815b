//! `diskspd`: the drop-in command.

use std::process::ExitCode;

use truespd_front::program;
use truespd_platform::sys::program::EndsInWords;

#[global_allocator]
static ALLOCATOR: EndsInWords = EndsInWords;

fn main() -> ExitCode {
    ExitCode::from(program::main("diskspd", program::diskspd) as u8)
}
