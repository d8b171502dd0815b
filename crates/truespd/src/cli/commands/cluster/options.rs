//! Options of `truespd cluster run` itself. They stand among the options of DiskSpd's line, before its first target.

use std::path::PathBuf;

use clap::{CommandFactory, Parser};

/// Run a load on every rank at the same time, and add up the results
///
/// mpirun, srun or another launcher of MPI starts the ranks, one or more on each host. All check their
/// targets before any of them writes, start at the same instant, and hand in their results to rank 0, which
/// prints the sum with a row for each host.
#[derive(Debug, Clone, Parser, PartialEq, Eq)]
#[command(
    name = "truespd cluster run",
    override_usage = "mpirun -np RANKS --host HOSTS truespd cluster run [OPTIONS] LINE",
    disable_version_flag = true,
    max_term_width = 100
)]
pub(super) struct Options {
    /// Give each rank a stretch of its own of every target, which all ranks share
    #[arg(long, conflicts_with = "shared")]
    pub shard: bool,

    /// Several ranks may test all of one and the same file or device
    #[arg(long)]
    pub shared: bool,

    /// Refuse unless every host has so many ranks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks_per_host: Option<u32>,

    /// Folder for the result of each rank, on its own host [default: truespd-cluster- and the name of the
    /// run, in the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub documents: Option<PathBuf>,

    /// Seconds without a word after which a rank counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(3..=3600))]
    pub patience: u64,
}

/// Not for the parser, which takes `{n}` for a line end.
const MORE: &str = "
LINE is a command line as for diskspd (truespd run -? lists its options). In its words, {host} stands
for the name of the host, {rank} for the number of the rank from 0, {local} for its number on its
host, and {n} for the number of ranks; {{ and }} stand for braces.

truespd cluster mark, truespd cluster workload and truespd cluster find-max run these suites in the
same way: every rank makes its own files, every step runs on all ranks at once, and the figures are
those of all together. A rate is shared among the ranks. --shard and --shared are for lines only.

Examples:
  mpirun -np 3 --host a,b,c --bind-to none \\
    truespd cluster run -c10G -b4K -r -o32 -t4 -W5 -C5 -d60 -Su -L /data/{host}.dat
  srun -N 8 --ntasks-per-node 2 \\
    truespd cluster run -c10G -b1M -o8 -d60 -Su /scratch/rank{rank}.dat
  mpirun -np 4 --host a,b,c,d --bind-to none \\
    truespd cluster run --shard -c400G -w100 -b1M -d60 -Su /shared/one.dat
  mpirun -np 3 --host a,b,c --bind-to none truespd cluster mark /data
";

/// `truespd cluster run` with its options, for the manual and for completions.
pub(super) fn described() -> clap::Command {
    let line = clap::Arg::new("line").value_name("LINE").num_args(0..).help(
        "Options and targets as for diskspd; {host}, {rank}, {local} and {n} in them stand for what differs between \
         the ranks",
    );
    Options::command().name("run").arg(line).after_help(MORE.trim_start())
}

/// `truespd cluster mark` and so on: a suite with the options of the cluster that go with it.
pub(super) fn described_suite(name: &str, suite: clap::Command) -> clap::Command {
    let own = Options::command();
    let of_lines = ["shard", "shared"];
    let args = own.get_arguments().filter(|arg| !of_lines.contains(&arg.get_id().as_str())).cloned();
    let about = format!("Run truespd {name} on every rank at the same time");
    let long = suite
        .get_long_about()
        .map(|about| about.to_string().replacen("\n\n", ".\n\n", 1))
        .unwrap_or_default();
    let how = "Every rank makes its own files, every step runs on all ranks at once, and the figures are those of \
        all together.";
    let target = match name {
        "workload" => "oltp /data",
        "find-max" => "'-b8K -r -o32 -Su' /data --p99 2ms",
        _ => "/data",
    };
    suite
        .args(args)
        .about(about.clone())
        .long_about(format!("{about}\n\n{how}\n\n{long}"))
        .override_usage(format!("mpirun -np RANKS --host HOSTS truespd cluster {name} [OPTIONS] ..."))
        .after_help(format!(
            "Examples:\n  mpirun -np 3 --host a,b,c --bind-to none truespd cluster {name} {target}\n"
        ))
}

/// Options of the cluster, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Own {
    pub options: Options,
    pub line: Vec<String>,
}

impl Own {
    /// Takes the options of the cluster out of the words. A suite (no line) shows its own help.
    ///
    /// # Errors
    /// A refusal, or the help.
    pub(super) fn split(words: &[String], is_line: bool) -> Result<Own, clap::Error> {
        let command = Options::command();
        let (mut own, mut line) = (vec![String::new()], Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").map(|name| name.split('=').next().unwrap_or(name));
            let is_help = is_line && ["--help", "-?", "-h"].contains(&word.as_str());
            let known = command.get_arguments().find(|known| name.is_some() && known.get_long() == name);
            match known {
                _ if word == "--" => {
                    line.push(word.clone());
                    line.extend(words.by_ref().cloned());
                }
                _ if is_help => own.push("--help".into()),
                Some(known) => {
                    own.push(word.clone());
                    if known.get_action().takes_values() && !word.contains('=') {
                        own.extend(words.next().cloned());
                    }
                }
                None => line.push(word.clone()),
            }
        }
        Ok(Own { options: Options::try_parse_from(own)?, line })
    }
}

pub(super) fn help() -> String {
    Options::command().render_long_help().to_string() + MORE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &str) -> Result<Own, clap::Error> {
        Own::split(&words.split(' ').map(str::to_string).collect::<Vec<_>>(), true)
    }

    #[test]
    fn options_of_the_cluster_may_stand_anywhere_before_the_end_of_options() {
        let own =
            split("--patience 5 -b4K --shard --json a.json --documents=d f1 -- --shared").expect("legal");
        assert_eq!(own.line.join(" "), "-b4K --json a.json f1 -- --shared");
        let Options { shard, shared, documents, patience, .. } = own.options;
        assert_eq!((shard, shared, patience), (true, false, 5));
        assert_eq!(documents, Some("d".into()));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for words in
            ["--patience 0 f", "--patience x f", "--ranks-per-host 0 f", "--shard --shared f", "--documents"]
        {
            assert!(split(words).is_err_and(|answer| answer.use_stderr()), "{words}");
        }
        assert!(split("-b4K -?").is_err_and(|answer| !answer.use_stderr()));
    }

    #[test]
    fn no_option_of_the_cluster_is_one_of_diskspd() {
        let command = Options::command();
        for known in command.get_arguments().filter_map(|known| known.get_long()) {
            assert!(diskspd::grammar::help_of(known).is_none() || known == "help", "--{known}");
        }
    }
}
