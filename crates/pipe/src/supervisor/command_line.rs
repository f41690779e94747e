//! Command lines of supervisors: the first argument makes a binary one. Supervisors of other daemons, also of other versions
//! of wh, are recognised by it, so the arguments never change.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

/// Kinds of supervisors, by how the program is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisorKind {
    /// Its standard input, output and error are pipes.
    Pipes,
    /// They are a terminal.
    Terminal,
}

impl SupervisorKind {
    /// The first argument of a supervisor.
    pub fn argument(self) -> &'static str {
        match self {
            Self::Pipes => "__keep",
            Self::Terminal => "__guard",
        }
    }

    /// The kind that a first argument asks for; `None` if it does not ask for a supervisor.
    pub fn from_argument(argument: Option<&OsStr>) -> Option<Self> {
        [Self::Pipes, Self::Terminal]
            .into_iter()
            .find(|one| argument.is_some_and(|argument| argument == one.argument()))
    }
}

/// Our own binary, also when its file has been replaced meanwhile.
pub fn own_binary() -> io::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { Ok(own) } else { std::env::current_exe() }
}

/// The command that makes our own binary a supervisor for pipes. Its `main` calls [`pipes::run`](super::pipes::run) with the
/// arguments behind [`SupervisorKind::Pipes`].
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
