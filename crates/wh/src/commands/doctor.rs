//! Implements `wh doctor`, which checks the installed agents and the settings files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use wh_agents::Catalog;
use wh_agents::interface::{AgentFacts, Installation, LoginState, QueryContext, Readiness};

use crate::agents;
use crate::failure::{CliFailure, code, with_exit_codes};
use crate::print::{clean_line, json_line, print};
use crate::settings::files;

/// Check which agents can be used here and what is missing
///
/// For each built-in agent and each agent from agents.toml, shows whether the agent is installed, its version, its
/// login, and the command that installs or fixes it. Also lists the settings files in use and errors in them. `wh
/// doctor` changes nothing and starts no conversation.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh doctor\n  wh doctor --json | jq -r 'select(.installed) | .agent'", &[]))]
pub struct DoctorCommand {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl DoctorCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let failed = |error: &dyn std::fmt::Display| CliFailure::new(code::FAILED, error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let catalog = agents::catalog(Path::new("."))?;
        agents::print_notices(&catalog);
        let found = runtime.map_err(|error| failed(&error))?.block_on(check_agents(&catalog));
        let files = |facts: &AgentFacts| catalog.files(&facts.id).map(Path::to_owned).collect::<Vec<_>>();
        let lines: Vec<String> = if self.json {
            let objects = found.iter().map(|(facts, readiness)| object(facts, readiness, &files(facts)));
            objects.map(|object| json_line(&object.to_string())).collect()
        } else {
            let width = found.iter().map(|(facts, _)| facts.id.len()).max().unwrap_or_default();
            found.iter().map(|(facts, readiness)| paragraph(facts, readiness, &files(facts), width)).collect()
        };
        print(&lines.concat())?;
        self.settings()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the settings files in use with notices about them, or the error if a file is invalid.
    fn settings(&self) -> Result<(), CliFailure> {
        let found = files::find(Some(Path::new(".")));
        let found = found.and_then(|found| files::merge(&found.files).map(|settings| (found, settings)));
        let (paths, error, notices) = match found {
            Ok((found, settings)) => {
                let wrong = settings.wrong_variables().iter().cloned();
                (found.paths(), None, found.notices(|_| true).into_iter().chain(wrong).collect())
            }
            Err(failure) => (Vec::new(), Some(failure.one_line()), Vec::new()),
        };
        if self.json {
            if !paths.is_empty() || error.is_some() || !notices.is_empty() {
                let body = json!({ "settings": paths, "error": error, "notices": notices });
                print(&json_line(&body.to_string()))?;
            }
            return Ok(());
        }
        let paths = paths.iter().map(|path| path.display().to_string());
        let lines = paths.chain(error).chain(notices);
        print(&lines.map(|line| clean_line(&format!("settings: {line}")) + "\n").collect::<String>())
    }
}

/// Checks all agents concurrently, because each check may start a program.
async fn check_agents(catalog: &Catalog) -> Vec<(AgentFacts, Readiness)> {
    let checks = catalog.agents().iter().cloned().map(|agent| {
        tokio::spawn(async move {
            let readiness = agent.check(&QueryContext::of_wh()).await;
            (agent.facts(), readiness)
        })
    });
    let mut found = Vec::new();
    for check_agents in checks.collect::<Vec<_>>() {
        found.extend(check_agents.await.ok());
    }
    found
}

fn object(facts: &AgentFacts, readiness: &Readiness, files: &[PathBuf]) -> Value {
    let (path, version) = match &readiness.installation {
        Installation::Installed { path, version } => (Some(path.to_string_lossy().into_owned()), version.clone()),
        Installation::BuiltIn => (None, Some(env!("CARGO_PKG_VERSION").to_owned())),
        Installation::Missing => (None, None),
    };
    let (login, account) = match &readiness.login {
        LoginState::NotNeeded => ("not_needed", None),
        LoginState::Yes { account } => ("yes", account.clone()),
        LoginState::No => ("no", None),
        LoginState::Unknown => ("unknown", None),
    };
    json!({
        "agent": facts.id,
        "title": facts.title,
        "installed": readiness.installation.is_present(),
        "path": path,
        "version": version,
        "logged_in": login,
        "account": account,
        "hint": readiness.hint,
        "files": files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
    })
}

fn paragraph(facts: &AgentFacts, readiness: &Readiness, files: &[PathBuf], width: usize) -> String {
    let installation = match &readiness.installation {
        Installation::BuiltIn => "built in".to_owned(),
        Installation::Installed { path, version } => {
            format!("{} at {}", version.as_deref().unwrap_or("installed"), path.display())
        }
        Installation::Missing => "not installed".to_owned(),
    };
    let login = match &readiness.login {
        _ if !readiness.installation.is_present() => String::new(),
        LoginState::NotNeeded => String::new(),
        LoginState::Yes { account: Some(account) } => format!(", logged in with {account}"),
        LoginState::Yes { account: None } => ", logged in".to_owned(),
        LoginState::No => ", not logged in".to_owned(),
        LoginState::Unknown => ", login unknown".to_owned(),
    };
    let mut lines = clean_line(&format!("{:<width$}  {}: {installation}{login}", facts.id, facts.title)) + "\n";
    for file in files {
        lines.push_str(&clean_line(&format!("{:<width$}  defined in {}", "", file.display())));
        lines.push('\n');
    }
    if let Some(hint) = &readiness.hint {
        lines.push_str(&clean_line(&format!("{:<width$}  {hint}", "")));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> AgentFacts {
        AgentFacts { id: "claude".to_owned(), title: "Claude Code".to_owned(), install_hint: None, login_hint: None }
    }

    #[test]
    fn a_missing_agent_has_an_install_hint() {
        let missing = Readiness {
            installation: Installation::Missing,
            login: LoginState::Unknown,
            hint: Some("run `npm install`".to_owned()),
        };
        assert_eq!(
            paragraph(&facts(), &missing, &[], 6),
            "claude  Claude Code: not installed\n        run `npm install`\n"
        );
        let installation = Installation::Installed { path: "/bin/claude".into(), version: Some("2.1".to_owned()) };
        let ready = Readiness { installation, login: LoginState::Yes { account: Some("KEY".to_owned()) }, hint: None };
        assert_eq!(
            paragraph(&facts(), &ready, &["/a.toml".into()], 6),
            "claude  Claude Code: 2.1 at /bin/claude, logged in with KEY\n        defined in /a.toml\n"
        );
    }
}
