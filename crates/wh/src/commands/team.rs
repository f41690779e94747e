//! Implements `wh team`, which manages the teams that may control sessions.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use wh_engine::control::teams::Teams;

use crate::daemon::DaemonPaths;
use crate::failure::{CliFailure, code, print_to_stderr, with_exit_codes};
use crate::print::print;

/// Manage teams; the members of a team may control its sessions
///
/// Each member of a team has a credential, stored in a file that only you can read. The credential proves identity. A
/// member may do what its role allows. A member without a role may do everything. Roles are defined in config.json, see
/// docs/security.md.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh team list\n  wh team add default ci\n  wh control send a 'run the tests' --as ci\n  wh team remove default ci", &[]))]
pub struct TeamCommand {
    #[command(subcommand)]
    command: TeamSubcommand,
}

#[derive(Debug, Subcommand)]
enum TeamSubcommand {
    /// List the teams and their members
    List,
    /// Add a member and create its credential; the team is created if missing
    Add {
        /// Name of the team
        team: String,
        /// Name of the member
        member: String,
        /// Role of the member
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
    },
    /// Remove a member and its credential
    Remove {
        /// Name of the team
        team: String,
        /// Name of the member
        member: String,
    },
}

impl TeamCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let paths = DaemonPaths::here()?;
        let failed = |error: std::io::Error| {
            let wrong = error.kind() == std::io::ErrorKind::InvalidInput;
            CliFailure::new(if wrong { code::USAGE } else { code::FAILED }, error)
        };
        let mut teams = Teams::open(paths.teams()).map_err(failed)?;
        match self.command {
            TeamSubcommand::List => {
                for problem in teams.problems() {
                    print_to_stderr(&format!("wh: {problem}"));
                }
                for (name, team) in &teams.policy().teams {
                    print(&format!("{name}\n"))?;
                    for (member, facts) in &team.members {
                        print(&format!("    {member:<20} {}\n", facts.role.as_deref().unwrap_or("member")))?;
                    }
                }
            }
            TeamSubcommand::Add { team, member, role } => {
                let file = teams.add(&team, &member, role.as_deref()).map_err(failed)?;
                if let Some(role) =
                    role.filter(|role| teams.policy().teams.get(&team).is_none_or(|team| team.role(role).is_none()))
                {
                    print_to_stderr(&format!(
                        "wh: {team} does not define the role {role:?}, so {member} has no permissions yet"
                    ));
                    let config = paths.teams().join(&team).join("config.json");
                    print_to_stderr(&format!(
                        "    define it in {}: \"roles\": {{\"{role}\": {{\"allow\": [\"*\"]}}}}",
                        config.display()
                    ));
                }
                print(&format!("added {member} to team {team}; the credential is in {}\n", file.display()))?;
            }
            TeamSubcommand::Remove { team, member } => {
                if !teams.remove(&team, &member).map_err(failed)? {
                    return Err(CliFailure::new(code::USAGE, format!("team {team} has no member {member}"))
                        .hint("`wh team list` shows the members"));
                }
                print(&format!("removed {member} from team {team}\n"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
