//! `wh team`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use wh_engine::control::teams::Teams;

use crate::daemon::Place;
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::print::print;

/// Who may control sessions
///
/// A team has members, each with a credential in a file that only you can read: whoever shows it is who they say. A member may do
/// what the role allows, and without a role everything; roles are described in config.json, see docs/security.md.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh team list\n  wh team add default ci\n  wh control send a 'run the tests' --as ci\n  wh team remove default ci"))]
pub struct Team {
    #[command(subcommand)]
    command: TeamCommand,
}

#[derive(Debug, Subcommand)]
enum TeamCommand {
    /// List the teams and their members
    List,
    /// Make somebody a member, with a credential; the team is made if need be
    Add {
        /// The team
        team: String,
        /// The member
        member: String,
        /// What the member may do
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
    },
    /// Take somebody out of a team; the credential is gone with it
    Remove {
        /// The team
        team: String,
        /// The member
        member: String,
    },
}

impl Team {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let place = Place::here()?;
        let failed = |error: std::io::Error| {
            let wrong = error.kind() == std::io::ErrorKind::InvalidInput;
            Failure::new(if wrong { code::USAGE } else { code::FAILED }, error)
        };
        let mut teams = Teams::open(place.teams()).map_err(failed)?;
        match self.command {
            TeamCommand::List => {
                for problem in teams.problems() {
                    say(&format!("wh: {problem}"));
                }
                for (name, team) in &teams.policy().teams {
                    print(&format!("{name}\n"))?;
                    for (member, facts) in &team.members {
                        print(&format!("    {member:<20} {}\n", facts.role.as_deref().unwrap_or("member")))?;
                    }
                }
            }
            TeamCommand::Add { team, member, role } => {
                let file = teams.add(&team, &member, role.as_deref()).map_err(failed)?;
                if let Some(role) =
                    role.filter(|role| teams.policy().teams.get(&team).is_none_or(|team| team.role(role).is_none()))
                {
                    say(&format!("wh: {team} does not define the role {role:?}, so {member} may do nothing yet"));
                    let config = place.teams().join(&team).join("config.json");
                    say(&format!(
                        "    say what it allows in {}: \"roles\": {{\"{role}\": {{\"allow\": [\"*\"]}}}}",
                        config.display()
                    ));
                }
                print(&format!("{member} is in {team}; the credential is in {}\n", file.display()))?;
            }
            TeamCommand::Remove { team, member } => {
                if !teams.remove(&team, &member).map_err(failed)? {
                    return Err(Failure::new(code::USAGE, format!("there is no {member} in {team}"))
                        .hint("wh team list tells who there is"));
                }
                print(&format!("{member} is not in {team} any more\n"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
