//! `wh trust`.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wh_agents::Catalog;
use wh_agents::catalog::AgentsFile;

use crate::failure::{Failure, code};
use crate::print::{clean_line, print};
use crate::project::ProjectFile;
use crate::trust::{Standing, Trust as Book};
use crate::{agents, places, project};

/// Let a project's own file say which agents there are
///
/// A project may have agents of its own, in .wheelhouse/agents.toml: in the directory, or in one above it up to the root of the
/// repository or your home. Such a file says which programs are started, and so it is used only once you have trusted it. Shows
/// what it says and asks. The trust is for this file with this content: one that has changed is not used until you trust it again.
/// What the programs themselves are is not looked at.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wh trust                      show what the file of this project says, and ask
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

    /// Trust this project's file no more; a file that --list shows can be named, too
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
        let file = look(&self.directory)?;
        let said = agents::parse(&file.path, &file.text)?;
        let own = agents::own_file()?;
        let before = agents::with(own.as_slice())?;
        let after = agents::with(&own.into_iter().chain([said.clone()]).collect::<Vec<_>>())?;
        print(&shown(&file, &said, &before, &after))?;
        if book.of(&file) == Standing::Trusted {
            print("\nYou trust it already.\n")?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.yes && !asked()? {
            print("It is not trusted, and not used.\n")?;
            return Ok(ExitCode::from(code::REFUSED));
        }
        let cannot = |error| Failure::new(code::FAILED, format!("the trust cannot be kept: {error}"));
        book.add(&file).map_err(cannot)?;
        let back = agents::quoted(&file.directory);
        print(&format!("It is trusted from now on, until it changes. `wh trust --revoke {back}` takes that back.\n"))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The project's file, as it is now.
fn look(directory: &Path) -> Result<ProjectFile, Failure> {
    let entered = directory.canonicalize().ok().filter(|path| path.is_dir());
    let wanted =
        entered.ok_or_else(|| Failure::new(code::USAGE, format!("{} is not a directory", directory.display())))?;
    let Some(found) = project::find(&wanted, places::home().as_deref()) else {
        let place = project::place(&wanted);
        return Err(Failure::new(code::USAGE, format!("there is no {}, and none above it", place.display()))
            .hint("agents for all projects are in your own agents.toml, which needs no trust"));
    };
    ProjectFile::read(&found).map_err(|error| {
        let place = project::place(&found);
        Failure::new(code::FAILED, format!("cannot read {}: {error}", place.display())).hint("make it readable")
    })
}

/// What the file says, for a person to judge.
fn shown(file: &ProjectFile, said: &AgentsFile, before: &Catalog, after: &Catalog) -> String {
    let mut text = clean_line(&project::place(&file.directory).display().to_string());
    if !file.path.starts_with(&file.directory) {
        text += &clean_line(&format!(", which is really {}", file.path.display()));
    }
    text += "\n";
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

fn asked() -> Result<bool, Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout());
    if !input.is_terminal() || !output.is_terminal() {
        return Err(Failure::new(code::USAGE, "there is no terminal to ask on")
            .hint("run it on a terminal, or add --yes once you know what the file says"));
    }
    let _ = write!(output, "\nLet it say which programs wh starts? [y/N] ");
    let _ = output.flush();
    let mut answer = String::new();
    input.read_line(&mut answer).map_err(|error| Failure::new(code::FAILED, error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn revoke(book: &mut Book, named: &Path) -> Result<ExitCode, Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // The file or the whole project may be gone: then its name has to do.
    let directory = real(named);
    let mut places = vec![named.to_owned(), directory.clone(), project::place(&directory)];
    places.push(real(&project::place(&directory)));
    if let Some(found) = project::find(&directory, places::home().as_deref()) {
        places.push(real(&project::place(&found)));
    }
    let gone = book.revoke(&places).map_err(|error| Failure::new(code::FAILED, error))?;
    if gone.is_empty() {
        return Err(Failure::new(code::USAGE, format!("nothing in {} is trusted", named.display()))
            .hint("`wh trust --list` shows what is"));
    }
    print(&gone.iter().map(|path| clean_line(&format!("{path} is not trusted any more")) + "\n").collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
