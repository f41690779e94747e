//! The help: a line for each command, under the headings of the table, then the commands of the agents.

use super::table::{Listing, ROWS, Section};
use crate::space::ParticipantId;
use crate::space::harness::Named;

/// The help's first line.
pub const HELP_TITLE: &str = "Available Commands";

/// Columns that a usage takes in the help at least.
const USAGE_WIDTH: usize = 48;

/// A line of the help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpLine {
    /// The heading above it.
    pub section: Section,
    /// How the command is written.
    pub usage: String,
    /// Its effect.
    pub about: &'static str,
}

/// The lines of the help, without those of agents.
pub fn help_lines() -> impl Iterator<Item = HelpLine> {
    ROWS.iter().flat_map(|row| match row.listing {
        Listing::Own(section) => {
            let line = |form: &super::Form| HelpLine { section, usage: form.usage(row.name()), about: form.about };
            row.forms.iter().map(line).collect()
        }
        Listing::Joint(section, usage, about) => vec![HelpLine { section, usage: usage.to_owned(), about }],
        Listing::With(_) => Vec::new(),
    })
}

/// The help, line by line.
pub fn help(of_agents: &[(ParticipantId, Vec<Named>)]) -> Vec<String> {
    let mut lines = vec![HELP_TITLE.to_owned()];
    let listed: Vec<HelpLine> = help_lines().collect();
    let width = listed.iter().map(|line| line.usage.chars().count()).fold(USAGE_WIDTH, usize::max);
    let mut section = None;
    for line in listed {
        if section.replace(line.section) != Some(line.section) {
            lines.push(line.section.title().to_owned());
        }
        lines.push(format!("  {:<width$} {}", line.usage, line.about));
    }
    for (agent, commands) in of_agents.iter().filter(|(_, commands)| !commands.is_empty()) {
        lines.push(format!("Commands of {agent}"));
        for command in commands {
            lines.push(format!("  {:<width$} {}", format!("/{}", command.id), command.title));
        }
    }
    lines
}
