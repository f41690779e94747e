//! Processes of the system and their open files, from `/proc`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Mark of a server of Codex, which writes transcripts for other programs.
const SERVER_MARK: &str = "app-server";

/// Programs that run agents.
const INTERPRETERS: [&str; 4] = ["node", "bun", "deno", "sh"];

/// Maximum number of arguments of an interpreter up to the path of the agent.
const MAX_INTERPRETER_WORDS: usize = 4;

/// Processes and their parents.
#[derive(Debug)]
pub(super) struct ProcessTable {
    proc: PathBuf,
    parents: HashMap<u32, u32>,
}

impl ProcessTable {
    /// Reads the processes that are running now.
    pub fn read(proc: &Path) -> Self {
        let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let parents = ids.filter_map(|id| Some((id, parent(&proc.join(id.to_string()))?))).collect();
        Self { proc: proc.to_owned(), parents }
    }

    /// Returns the process and all processes below it.
    pub fn descendants(&self, process: u32) -> Vec<u32> {
        let is_below = |id: u32| {
            let mut id = id;
            // The table is read in steps and may contain a cycle if ids are reused meanwhile.
            for _ in 0..self.parents.len() {
                if id == process {
                    return true;
                }
                match self.parents.get(&id) {
                    Some(parent) => id = *parent,
                    None => return false,
                }
            }
            false
        };
        self.parents.keys().copied().filter(|id| is_below(*id)).collect()
    }

    /// Returns the files that the process has open.
    pub fn open_files(&self, process: u32) -> Vec<PathBuf> {
        let arguments = self.arguments(process);
        // A server that a terminal program has started serves other terminals too.
        if arguments.contains(SERVER_MARK) {
            return Vec::new();
        }
        let entries = std::fs::read_dir(self.folder(process).join("fd")).into_iter().flatten().flatten();
        entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
    }

    /// Returns true if a process outside of `own` runs the program in the directory. Programs of other users are not
    /// readable; they have other transcripts.
    pub fn others(&self, own: &[u32], program: &str, directory: &Path) -> bool {
        self.parents.keys().filter(|id| !own.contains(id)).any(|id| {
            let is_here = std::fs::read_link(self.folder(*id).join("cwd")).is_ok_and(|path| path == directory);
            is_here && {
                let arguments = self.arguments(*id);
                runs(&arguments, program) && !arguments.contains(SERVER_MARK)
            }
        })
    }

    fn folder(&self, process: u32) -> PathBuf {
        self.proc.join(process.to_string())
    }

    fn arguments(&self, process: u32) -> String {
        let arguments = std::fs::read(self.folder(process).join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).into_owned()
    }
}

/// Returns true if a command line, with its arguments separated by NUL, runs the program directly or by an interpreter.
fn runs(arguments: &str, program: &str) -> bool {
    let mut words = arguments.split('\0');
    let first = words.next().unwrap_or_default();
    let is_interpreter = INTERPRETERS.iter().any(|interpreter| is_named(first, interpreter));
    is_named(first, program) || is_interpreter && words.take(MAX_INTERPRETER_WORDS).any(|word| is_named(word, program))
}

/// Returns true if a command-line argument is a path to the program, with or without an extension.
fn is_named(argument: &str, program: &str) -> bool {
    let name = argument.rsplit('/').next().unwrap_or_default();
    name.split('.').next() == Some(program)
}

/// Reads the id of the parent from `/proc/ID/stat`. The name in parentheses may contain any character.
fn parent(folder: &Path) -> Option<u32> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}
