//! Manual pages. They are made when they are asked for, from what the help is made from: the rows of
//! DiskSpd's switches, and the options of the subcommands.

mod facts;
mod page;
mod plain;
mod run;
mod subcommands;

use clap::Command;

pub(crate) use page::ManualPage;
pub(crate) use plain::plain;
#[cfg(test)]
pub(crate) use subcommands::EXAMPLES;

/// Names of all pages. `command` is `truespd` with all its subcommands.
pub(crate) fn names(command: &Command) -> Vec<String> {
    let mut command = command.clone();
    command.build();
    std::iter::once(run::DISKSPD.page.to_string()).chain(subcommands::names(&command)).collect()
}

/// All pages. `command` is `truespd` with all its subcommands.
pub(crate) fn pages(command: &Command) -> Vec<ManualPage> {
    let mut command = command.clone();
    command.build();
    let names = subcommands::names(&command);
    let mut pages = vec![run::page(&run::DISKSPD)];
    subcommands::push_pages(&mut pages, &command, &names);
    pages
}

/// The file of a page.
pub(crate) fn file_name(page: &ManualPage) -> String {
    format!("{}.{}", page.name, page::SECTION)
}
