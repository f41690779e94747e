//! Programs of the trial: how to start them, keep them busy, and make them append a name to a file.

use std::path::Path;

/// Number of filler characters in a type-ahead line, without its prefix and line break.
const AHEAD_COLUMNS: usize = 98;

/// Program that reads from a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalProgram {
    Bash,
    /// Debian Almquist shell.
    Dash,
    /// Z shell (zsh).
    Zsh,
    /// Python's interactive mode.
    Python,
    /// Node.js's interactive mode.
    Node,
    Vim,
}

impl TerminalProgram {
    /// All programs of the trial.
    pub const ALL: [Self; 6] = [Self::Bash, Self::Dash, Self::Zsh, Self::Python, Self::Node, Self::Vim];

    /// Returns the name of the executable.
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

    /// Returns the command line. User configuration is disabled.
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

    /// Returns a line that appends `name` to the file.
    pub(super) fn note(self, name: &str, file: &Path) -> String {
        let file = file.display();
        match self {
            _ if self.is_shell() => format!("echo {name} >> {file}\n"),
            Self::Python => format!("print('{name}', file=open('{file}', 'a'))\n"),
            Self::Node => format!("fs.appendFileSync('{file}', '{name}\\n')\n"),
            _ => format!(":call writefile(['{name}'], '{file}', 'a')\n"),
        }
    }

    /// Returns a line that appends `name` to the file and then runs for a long time. In odd rounds some programs use
    /// another way to stay busy.
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

    /// Returns about 12 kB of input without effect: complete lines, or in odd rounds one unterminated line.
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
