//! `wh trust`.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wh_agents::Catalog;
use wh_agents::catalog::AgentsFile;

use crate::failure::{Failure, code};
use crate::print::{clean_line, print};
use crate::project::{ProjectFile, ProjectFileName};
use crate::settings::document::{ConfigFile, Owner};
use crate::settings::files;
use crate::settings::table::InProject;
use crate::trust::{Standing, Trust as Book};
use crate::{agents, places, project};

/// Let a project's own files say which agents there are, and settings
///
/// A project may have agents of its own, in .wheelhouse/agents.toml, and settings, in .wheelhouse/config.toml: in the directory, or
/// in one above it up to the root of the repository or your home. Agents say which programs are started, and so such a file is used
/// only once you have trusted it; of the settings the theme is always used, and the others once you have trusted the file. Shows
/// what the files say and asks. The trust is for a file with this content: one that has changed is not used until you trust it again.
/// What the programs themselves are is not looked at.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wh trust                      show what the files of this project say, and ask
  wh trust --yes ~/project      the same without the question, for scripts
  wh trust --list
  wh trust --revoke ~/project

Exit codes: 0 done, or trusted already; 2 wrong usage, no such file, or one with a mistake; 4 you said no; 125 any
other failure.")]
pub struct Trust {
    /// The project, or a directory in it
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Do not ask
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,

    /// List what is trusted: the SHA-256 of the content, since when, and the file
    #[arg(long, conflicts_with_all = ["directory", "revoke"])]
    list: bool,

    /// Trust this project's files no more; a file that --list shows can be named, too
    #[arg(long, value_name = "DIR", conflicts_with = "directory")]
    revoke: Option<PathBuf>,
}

impl Trust {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let mut book = Book::read().map_err(|error| Failure::new(code::FAILED, error))?;
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

    fn trust(&self, book: &mut Book) -> Result<ExitCode, Failure> {
        let files = look(&self.directory)?;
        let mut shown = Vec::new();
        for (name, file) in &files {
            shown.push(match name {
                ProjectFileName::Agents => self.show_agents(file)?,
                ProjectFileName::Config => show_settings(file)?,
            });
        }
        print(&shown.join("\n"))?;
        let unknown: Vec<&ProjectFile> =
            files.iter().map(|(_, file)| file).filter(|file| book.of(file) != Standing::Trusted).collect();
        let Some(first) = unknown.first() else {
            print(if files.len() == 1 { "\nYou trust it already.\n" } else { "\nYou trust them already.\n" })?;
            return Ok(ExitCode::SUCCESS);
        };
        let (it, is, verb) =
            if unknown.len() == 1 { ("It", "is", "it changes") } else { ("They", "are", "they change") };
        let starts = unknown
            .iter()
            .any(|file| files.iter().any(|(name, one)| *name == ProjectFileName::Agents && std::ptr::eq(one, *file)));
        if !self.yes && !asked(starts)? {
            print(&format!("{it} {is} not trusted, and not used.\n"))?;
            return Ok(ExitCode::from(code::REFUSED));
        }
        let cannot = |error| Failure::new(code::FAILED, format!("the trust cannot be kept: {error}"));
        for file in &unknown {
            book.add(file).map_err(cannot)?;
        }
        let back = agents::quoted(&first.directory);
        print(&format!("{it} {is} trusted from now on, until {verb}. `wh trust --revoke {back}` takes that back.\n"))?;
        Ok(ExitCode::SUCCESS)
    }

    fn show_agents(&self, file: &ProjectFile) -> Result<String, Failure> {
        let said = agents::parse(&file.path, &file.text)?;
        let own = agents::own_file()?;
        let before = agents::with(own.as_slice())?;
        let after = agents::with(&own.into_iter().chain([said.clone()]).collect::<Vec<_>>())?;
        Ok(shown(file, &said, &before, &after))
    }
}

/// The project's files, as they are now.
fn look(directory: &Path) -> Result<Vec<(ProjectFileName, ProjectFile)>, Failure> {
    let entered = directory.canonicalize().ok().filter(|path| path.is_dir());
    let wanted =
        entered.ok_or_else(|| Failure::new(code::USAGE, format!("{} is not a directory", directory.display())))?;
    let mut files = Vec::new();
    for name in ProjectFileName::ALL {
        let Some(found) = project::find(&wanted, places::home().as_deref(), name) else { continue };
        let file = ProjectFile::read(&found, name).map_err(|error| {
            let place = project::place(&found, name);
            Failure::new(code::FAILED, format!("cannot read {}: {error}", place.display())).hint("make it readable")
        })?;
        files.push((name, file));
    }
    if files.is_empty() {
        let [agents, config] = ProjectFileName::ALL.map(|name| project::place(&wanted, name));
        let config = config.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(Failure::new(
            code::USAGE,
            format!("there is no {}, no {config} beside it, and none above it", agents.display()),
        )
        .hint(
            "agents and settings for all projects are in your own agents.toml and config.toml, which need no trust",
        ));
    }
    Ok(files)
}

/// The place of a file, for a person to see.
fn headline(file: &ProjectFile, name: ProjectFileName) -> String {
    let mut text = clean_line(&project::place(&file.directory, name).display().to_string());
    if !file.path.starts_with(&file.directory) {
        text += &clean_line(&format!(", which is really {}", file.path.display()));
    }
    text + "\n"
}

/// The settings of a file, for a person to judge.
fn show_settings(file: &ProjectFile) -> Result<String, Failure> {
    let place = project::place(&file.directory, ProjectFileName::Config);
    let config = ConfigFile::read(&place, &file.text, Owner::Project).map_err(|mistake| files::wrong(&mistake))?;
    let mut text = headline(file, ProjectFileName::Config) + "\n";
    for entry in &config.entries {
        let always = if entry.setting.project == InProject::Always { "  (used without trust)" } else { "" };
        text += &clean_line(&format!("sets {} to {}{always}", entry.setting.key(), entry.value));
        text += "\n";
    }
    if config.entries.is_empty() {
        text += "it sets nothing\n";
    }
    Ok(text)
}

/// The agents of a file, for a person to judge.
fn shown(file: &ProjectFile, said: &AgentsFile, before: &Catalog, after: &Catalog) -> String {
    let mut text = headline(file, ProjectFileName::Agents);
    for outline in said.outline() {
        let what = if before.by_id(&outline.id).is_some() { "changes the agent" } else { "adds the agent" };
        text += &format!("\n{what} {}\n", outline.id);
        for (key, said) in &outline.lines {
            text += &clean_line(&format!("  {key:<19}  {said}"));
            text += "\n";
        }
        text += &match after.program(&outline.id) {
            Some(program) => clean_line(&format!("  {:<19}  {}", "starts", program.display())),
            None => format!("  {:<19}  nothing yet: its program is not installed", "starts"),
        };
        text += "\n";
    }
    if said.outline().is_empty() {
        text += "\nit names no agent\n";
    }
    text
}

fn asked(starts: bool) -> Result<bool, Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout());
    if !input.is_terminal() || !output.is_terminal() {
        return Err(Failure::new(code::USAGE, "there is no terminal to ask on")
            .hint("run it on a terminal, or add --yes once you know what the file says"));
    }
    let what = if starts { "Let it say which programs wh starts" } else { "Use these settings" };
    let _ = write!(output, "\n{what}? [y/N] ");
    let _ = output.flush();
    let mut answer = String::new();
    input.read_line(&mut answer).map_err(|error| Failure::new(code::FAILED, error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn revoke(book: &mut Book, named: &Path) -> Result<ExitCode, Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // The file or the whole project may be gone: then its name has to do.
    let directory = real(named);
    let mut places = vec![named.to_owned(), directory.clone()];
    for name in ProjectFileName::ALL {
        let place = |directory: &Path| project::place(directory, name);
        places.extend([place(&directory), real(&place(&directory))]);
        if let Some(found) = project::find(&directory, places::home().as_deref(), name) {
            places.push(real(&place(&found)));
        }
    }
    let gone = book.revoke(&places).map_err(|error| Failure::new(code::FAILED, error))?;
    if gone.is_empty() {
        return Err(Failure::new(code::USAGE, format!("nothing in {} is trusted", named.display()))
            .hint("`wh trust --list` shows what is"));
    }
    print(&gone.iter().map(|path| clean_line(&format!("{path} is not trusted any more")) + "\n").collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
