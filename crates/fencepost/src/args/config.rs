//! Arguments of `config`.

use super::common::{Common, Work};
use super::values::name;
use clap::{Args, Subcommand};

/// `config`.
#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// Print every value of a resolved configuration and where it came from.
    Show(ConfigArgs),
    /// Print what a configuration changes against the same one without its settings, or against another machine.
    Diff {
        /// What is configured.
        #[command(flatten)]
        args: ConfigArgs,
        /// Machine to compare with. Default: the same machine, without --set and --media.
        #[arg(long, value_name = "MACHINE")]
        against: Option<String>,
    },
}

/// What is configured.
#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// Program, or one value by its path (l1.ways).
    #[arg(default_value = "cq", value_name = "PROGRAM|PATH")]
    pub program: String,
    /// Design.
    #[arg(short, long, default_value = "volatile", value_parser = name)]
    pub design: String,
    /// Options of every run.
    #[command(flatten)]
    pub common: Common,
    /// How much is run.
    #[command(flatten)]
    pub work: Work,
}
