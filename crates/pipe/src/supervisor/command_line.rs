//! Command lines of supervisors. The first argument makes a binary run as a supervisor. Other daemons and other
//! versions of wh recognise supervisors by this argument, so it must never change.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

/// Kind of a supervisor, by its connection to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisorKind {
    /// Standard input, output and error are pipes.
    Pipes,
    /// Standard input, output and error are a terminal.
    Terminal,
}

impl SupervisorKind {
    /// Returns the first argument of a supervisor of this kind.
    pub fn argument(self) -> &'static str {
        match self {
            Self::Pipes => "__keep",
            Self::Terminal => "__guard",
        }
    }

    /// Returns the kind that a first argument selects; `None` if it does not select a supervisor.
    pub fn from_argument(argument: Option<&OsStr>) -> Option<Self> {
        [Self::Pipes, Self::Terminal]
            .into_iter()
            .find(|one| argument.is_some_and(|argument| argument == one.argument()))
    }
}

/// Returns the path of the running binary. The path is valid even if the file has been replaced.
pub fn own_binary() -> io::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { Ok(own) } else { std::env::current_exe() }
}

/// Returns the command that runs the current binary as a supervisor for pipes. Its `main` must call
/// [`pipes::run`](super::pipes::run) with the arguments after [`SupervisorKind::Pipes`].
pub fn own_command() -> io::Result<Vec<OsString>> {
    Ok(vec![own_binary()?.into_os_string(), SupervisorKind::Pipes.argument().into()])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_supervisor_is_recognised_by_its_first_argument() {
        for kind in [SupervisorKind::Pipes, SupervisorKind::Terminal] {
            assert_eq!(SupervisorKind::from_argument(Some(kind.argument().as_ref())), Some(kind));
        }
        for other in ["run", "", "__keep2", "guard"] {
            assert_eq!(SupervisorKind::from_argument(Some(other.as_ref())), None, "{other}");
        }
        assert_eq!(SupervisorKind::from_argument(None), None);
    }

    #[test]
    fn our_own_command_asks_for_a_supervisor() {
        let command = own_command().unwrap();
        assert!(Path::new(&command[0]).exists());
        assert_eq!(SupervisorKind::from_argument(Some(&command[1])), Some(SupervisorKind::Pipes));
    }
}
