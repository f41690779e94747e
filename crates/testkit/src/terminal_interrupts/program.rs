//! The programs of the trial: how each is started, kept busy, and made to note a name in a file.

use std::path::Path;

/// A line that is typed ahead, without its beginning and its end.
const AHEAD_COLUMNS: usize = 98;

/// A program that reads a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalProgram {
    /// GNU Bash.
    Bash,
    /// The Debian Almquist shell.
    Dash,
    /// The Z shell.
    Zsh,
    /// Python's interactive mode.
    Python,
    /// Node.js's interactive mode.
    Node,
    /// Vim.
    Vim,
}

impl TerminalProgram {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Bash, Self::Dash, Self::Zsh, Self::Python, Self::Node, Self::Vim];

    /// Its executable.
    pub fn executable(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Dash => "dash",
            Self::Zsh => "zsh",
            Self::Python => "python3",
            Self::Node => "node",
            Self::Vim => "vim",
        }
    }

    /// The command line, without any configuration of the user.
    pub(super) fn command(self) -> Vec<&'static str> {
        let arguments: &[&str] = match self {
            Self::Bash => &["--norc"],
            Self::Dash | Self::Node => &[],
            Self::Zsh => &["-f"],
            Self::Python => &["-q"],
            Self::Vim => &["-u", "NONE", "-i", "NONE", "-N", "-n"],
        };
        [&[self.executable()], arguments].concat()
    }

    fn is_shell(self) -> bool {
        matches!(self, Self::Bash | Self::Dash | Self::Zsh)
    }

    /// A line that appends `name` to the file.
    pub(super) fn note(self, name: &str, file: &Path) -> String {
        let file = file.display();
        match self {
            _ if self.is_shell() => format!("echo {name} >> {file}\n"),
            Self::Python => format!("print('{name}', file=open('{file}', 'a'))\n"),
            Self::Node => format!("fs.appendFileSync('{file}', '{name}\\n')\n"),
            _ => format!(":call writefile(['{name}'], '{file}', 'a')\n"),
        }
    }

    /// A line that appends `name` to the file and then runs for a long time. Programs that know several such ways take
    /// another one in odd rounds.
    pub(super) fn busy(self, name: &str, file: &Path, odd: bool) -> String {
        let note = self.note(name, file);
        let note = note.trim_end();
        let job = format!("sh -c 'echo {name} >> {}; exec sleep 1000'", file.display());
        match self {
            _ if self.is_shell() => format!("{job}\n"),
            Self::Python if odd => format!("exec(\"{note}\\nwhile True: pass\")\n"),
            Self::Python => format!("{note}; import time; time.sleep(1000)\n"),
            Self::Node => format!("{note}; while (true);\n"),
            _ if odd => format!(":!{job}\n"),
            _ => format!("{note} | sleep 1000\n"),
        }
    }

    /// About 12 kB that do nothing: lines, or in odd rounds one line without an end.
    pub(super) fn ahead(self, odd: bool) -> String {
        let (start, filling) = match self {
            _ if self.is_shell() => (": ", "x"),
            Self::Python => ("# ", "x"),
            Self::Node => ("//", "x"),
            _ => ("l", "l"),
        };
        match odd {
            true => format!("{start}{}", filling.repeat(121 * AHEAD_COLUMNS)),
            false => format!("{start}{}\n", filling.repeat(AHEAD_COLUMNS)).repeat(120),
        }
    }
}
