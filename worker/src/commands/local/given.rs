//! Finds the options on the command line, so that a mode can reject those that it does not read.
//! Environment variables are not rejected, because several commands share them.

use clap::{ArgMatches, Args, Command, FromArgMatches, Id, parser::ValueSource};

/// IDs of the options on the command line. Must be the first field of the options, because each
/// field removes its values from the matches.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenOptions(Vec<Id>);

impl GivenOptions {
    /// Returns the given options of `command` that are not in `read`.
    pub(super) fn unread(&self, command: &Command, read: &[Id]) -> Vec<String> {
        let is_unread = |id: &Id| self.0.contains(id) && !read.contains(id);
        let options = command.get_arguments().filter(|argument| is_unread(argument.get_id()));
        options.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect()
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|given| given.as_str() == id)
    }
}

impl FromArgMatches for GivenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_given =
            |id: &&Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        Ok(Self(matches.ids().filter(is_given).cloned().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for GivenOptions {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
