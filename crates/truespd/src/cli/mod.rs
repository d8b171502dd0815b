//! The subcommands of `truespd`.

mod ask;
mod commands;
mod completions;
mod kept;
mod live;
mod manual;
mod operands;
mod show;

pub use commands::truespd;
