//! Implements `wh trust`, which lists, adds and revokes trusted project files.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wh_agents::Catalog;
use wh_agents::catalog::AgentsFile;

use crate::failure::{CliFailure, code};
use crate::print::{clean_line, print};
use crate::project::{ProjectFile, ProjectFileName};
use crate::settings::document::{ConfigFile, SettingsFileOwner};
use crate::settings::files;
use crate::settings::table::ProjectRule;
use crate::trust::{TrustStatus, TrustStore};
use crate::{agents, directories, project};

/// Trust the agents and settings of a project
///
/// A project can define agents in .wheelhouse/agents.toml and settings in .wheelhouse/config.toml. wh looks for these
/// files in the directory and in its parents, up to the root of the repository or your home directory. Agents define
/// programs that wh starts, so agents.toml is used only after you trust it. From config.toml, only the theme is used
/// without trust.
///
/// Shows the contents of the files and asks for confirmation. Trust applies to the exact contents: a changed file must
/// be trusted again. The programs themselves are not checked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wh trust                      show the files of this project and ask
  wh trust --yes ~/project      trust without asking, for scripts
  wh trust --list
  wh trust --revoke ~/project

Exit codes:
  0    trusted, or the files were trusted already
  2    usage error, no such file, or an error in a file
  4    you declined
  125  any other failure")]
pub struct TrustCommand {
    /// Project directory, or a directory in it
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Do not ask for confirmation
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,

    /// List trusted files with their SHA-256 and the time of trust
    #[arg(long, conflicts_with_all = ["directory", "revoke"])]
    list: bool,

    /// Revoke trust in a project, or in a file shown by --list
    #[arg(long, value_name = "DIR", conflicts_with = "directory")]
    revoke: Option<PathBuf>,
}

impl TrustCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let mut book = TrustStore::read().map_err(|error| CliFailure::new(code::FAILED, error))?;
        if self.list {
            let lines = book
                .list()
                .map(|(path, trusted)| clean_line(&format!("{}  {}  {path}", trusted.sha256, trusted.since)) + "\n");
            print(&lines.collect::<String>())?;
            return Ok(ExitCode::SUCCESS);
        }
        match &self.revoke {
            Some(named) => revoke(&mut book, named),
            None => self.trust(&mut book),
        }
    }

    fn trust(&self, book: &mut TrustStore) -> Result<ExitCode, CliFailure> {
        let files = read_files(&self.directory)?;
        let mut shown = Vec::new();
        for (name, file) in &files {
            shown.push(match name {
                ProjectFileName::Agents => self.show_agents(file)?,
                ProjectFileName::Config => show_settings(file)?,
            });
        }
        print(&shown.join("\n"))?;
        let unknown: Vec<&ProjectFile> =
            files.iter().map(|(_, file)| file).filter(|file| book.of(file) != TrustStatus::Trusted).collect();
        let Some(first) = unknown.first() else {
            print("\nAlready trusted.\n")?;
            return Ok(ExitCode::SUCCESS);
        };
        let (it, is, verb) =
            if unknown.len() == 1 { ("The file", "is", "it changes") } else { ("The files", "are", "they change") };
        let starts = unknown
            .iter()
            .any(|file| files.iter().any(|(name, one)| *name == ProjectFileName::Agents && std::ptr::eq(one, *file)));
        if !self.yes && !confirm(starts)? {
            print(&format!("{it} {is} not trusted.\n"))?;
            return Ok(ExitCode::from(code::REFUSED));
        }
        let cannot = |error| CliFailure::new(code::FAILED, format!("cannot save the list of trusted files: {error}"));
        for file in &unknown {
            book.add(file).map_err(cannot)?;
        }
        let back = agents::quoted(&first.directory);
        print(&format!("{it} {is} trusted until {verb}. Revoke with `wh trust --revoke {back}`.\n"))?;
        Ok(ExitCode::SUCCESS)
    }

    fn show_agents(&self, file: &ProjectFile) -> Result<String, CliFailure> {
        let agents_file = agents::parse(&file.path, &file.text)?;
        let own = agents::own_file()?;
        let before = agents::with(own.as_slice())?;
        let after = agents::with(&own.into_iter().chain([agents_file.clone()]).collect::<Vec<_>>())?;
        Ok(shown(file, &agents_file, &before, &after))
    }
}

/// Reads the agents file and the settings file of a project.
fn read_files(directory: &Path) -> Result<Vec<(ProjectFileName, ProjectFile)>, CliFailure> {
    let entered = directory.canonicalize().ok().filter(|path| path.is_dir());
    let wanted =
        entered.ok_or_else(|| CliFailure::new(code::USAGE, format!("{} is not a directory", directory.display())))?;
    let mut files = Vec::new();
    for name in ProjectFileName::ALL {
        let Some(found) = project::find(&wanted, directories::home().as_deref(), name) else { continue };
        let file = ProjectFile::read(&found, name).map_err(|error| {
            let place = project::file_path(&found, name);
            CliFailure::new(code::FAILED, format!("cannot read {}: {error}", place.display()))
                .hint("make the file readable")
        })?;
        files.push((name, file));
    }
    if files.is_empty() {
        let [agents, config] = ProjectFileName::ALL.map(|name| project::file_path(&wanted, name));
        let config = config.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(CliFailure::new(
            code::USAGE,
            format!("there is no {} or {config}, and none in a parent directory", agents.display()),
        )
        .hint("your own agents.toml and config.toml apply to all projects and need no trust"));
    }
    Ok(files)
}

/// Returns a heading line with the path of a file. Adds its real path if a symbolic link leads out of the project.
fn headline(file: &ProjectFile, name: ProjectFileName) -> String {
    let mut text = clean_line(&project::file_path(&file.directory, name).display().to_string());
    if !file.path.starts_with(&file.directory) {
        text += &clean_line(&format!(" (real path {})", file.path.display()));
    }
    text + "\n"
}

/// Lists the settings of a file for review.
fn show_settings(file: &ProjectFile) -> Result<String, CliFailure> {
    let place = project::file_path(&file.directory, ProjectFileName::Config);
    let config =
        ConfigFile::read(&place, &file.text, SettingsFileOwner::Project).map_err(|mistake| files::wrong(&mistake))?;
    let mut text = headline(file, ProjectFileName::Config) + "\n";
    for entry in &config.entries {
        let always =
            if entry.setting.project == ProjectRule::Always { "  (used even if the file is not trusted)" } else { "" };
        text += &clean_line(&format!("sets {} to {}{always}", entry.setting.key(), entry.value));
        text += "\n";
    }
    if config.entries.is_empty() {
        text += "no settings\n";
    }
    Ok(text)
}

/// Lists the agents of a file for review.
fn shown(file: &ProjectFile, agents_file: &AgentsFile, before: &Catalog, after: &Catalog) -> String {
    let mut text = headline(file, ProjectFileName::Agents);
    for outline in agents_file.outline() {
        let what = if before.by_id(&outline.id).is_some() { "changes the agent" } else { "adds the agent" };
        text += &format!("\n{what} {}\n", outline.id);
        for (key, value) in &outline.lines {
            text += &clean_line(&format!("  {key:<19}  {value}"));
            text += "\n";
        }
        text += &match after.program(&outline.id) {
            Some(program) => clean_line(&format!("  {:<19}  {}", "starts", program.display())),
            None => format!("  {:<19}  nothing: the program is not installed", "starts"),
        };
        text += "\n";
    }
    if agents_file.outline().is_empty() {
        text += "\nno agents\n";
    }
    text
}

fn confirm(starts: bool) -> Result<bool, CliFailure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout());
    if !input.is_terminal() || !output.is_terminal() {
        return Err(CliFailure::new(code::USAGE, "cannot ask for confirmation without a terminal")
            .hint("run `wh trust` in a terminal, or review the files and use --yes"));
    }
    let what = if starts { "Allow these files to define programs that wh starts" } else { "Use these settings" };
    let _ = write!(output, "\n{what}? [y/N] ");
    let _ = output.flush();
    let mut answer = String::new();
    input.read_line(&mut answer).map_err(|error| CliFailure::new(code::FAILED, error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn revoke(book: &mut TrustStore, named: &Path) -> Result<ExitCode, CliFailure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // If the path cannot be resolved, for example because the project was deleted, it is compared as given.
    let directory = real(named);
    let mut places = vec![named.to_owned(), directory.clone()];
    for name in ProjectFileName::ALL {
        let place = |directory: &Path| project::file_path(directory, name);
        places.extend([place(&directory), real(&place(&directory))]);
        if let Some(found) = project::find(&directory, directories::home().as_deref(), name) {
            places.push(real(&place(&found)));
        }
    }
    let gone = book.revoke(&places).map_err(|error| CliFailure::new(code::FAILED, error))?;
    if gone.is_empty() {
        return Err(CliFailure::new(code::USAGE, format!("no trusted files in {}", named.display()))
            .hint("`wh trust --list` shows trusted files"));
    }
    print(&gone.iter().map(|path| clean_line(&format!("no longer trusted: {path}")) + "\n").collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
