//! The subcommands of `truespd`.

mod ask;
mod commands;
mod completions;
mod kept;
mod live;
mod manual;
mod operands;
mod show;
mod words;

pub use commands::truespd;
