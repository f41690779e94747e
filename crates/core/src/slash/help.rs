//! Text of `/help`: the slash commands of `wh` by section, then the commands of each agent.

use super::table::{HelpListing, HelpSection, ROWS};
use crate::space::ParticipantId;
use crate::space::harness::AgentOption;

/// First line of the help.
pub const HELP_TITLE: &str = "Available Commands";

/// Minimum width of the usage column.
const USAGE_WIDTH: usize = 48;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpLine {
    pub section: HelpSection,
    pub usage: String,
    pub about: &'static str,
}

/// Returns the help lines of wh's own commands.
pub fn help_lines() -> impl Iterator<Item = HelpLine> {
    ROWS.iter().flat_map(|row| match row.listing {
        HelpListing::Own(section) => {
            let line =
                |form: &super::ArgumentForm| HelpLine { section, usage: form.usage(row.name()), about: form.about };
            row.forms.iter().map(line).collect()
        }
        HelpListing::Joint(section, usage, about) => vec![HelpLine { section, usage: usage.to_owned(), about }],
        HelpListing::With(_) => Vec::new(),
    })
}

/// Returns the complete help text as lines. `of_agents` lists the commands of each agent.
pub fn help(of_agents: &[(ParticipantId, Vec<AgentOption>)]) -> Vec<String> {
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
