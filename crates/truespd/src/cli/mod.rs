//! The subcommands of `truespd`.

mod commands;
mod completions;
mod kept;
mod live;
mod manual;
mod operands;
mod show;

pub use commands::truespd;
