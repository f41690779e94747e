//! Checks the size and content of a command line and an environment before the program is started.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use nix::sys::resource::{Resource, getrlimit};
use wh_client::{CreateSessionRequest, Workload};

/// Maximum bytes of one argument or variable including its NUL terminator, equal to `MAX_ARG_STRLEN` of Linux.
const MAX_ARGUMENT_BYTES: usize = 128 << 10;
/// Size of the pointer to an argument or variable. Linux adds these bytes to the total.
const POINTER_BYTES: usize = size_of::<usize>();
/// Bytes reserved for the arguments and variables that wh adds.
const RESERVED_BYTES: usize = 16 << 10;

/// Checks that a program can be started with these arguments and variables. The error names the exceeded limit or the
/// violated rule.
pub(super) fn check(wanted: &CreateSessionRequest) -> Result<(), String> {
    let mut bytes = RESERVED_BYTES;
    let arguments = match &wanted.workload {
        Workload::Program(command) => command,
        Workload::Agent { model, mode, arguments, .. } => {
            for (name, chosen) in [("the model", model), ("the mode", mode)] {
                bytes += chosen.as_ref().map_or(Ok(0), |chosen| argument_bytes(chosen.as_ref(), || name.to_owned()))?;
            }
            arguments
        }
    };
    for (number, argument) in arguments.iter().enumerate() {
        bytes += argument_bytes(argument, || format!("argument {number}"))?;
    }
    match &wanted.environment {
        Some(environment) => {
            for (name, value) in environment {
                bytes +=
                    counted_bytes(name.len() + 1 + value.len(), || format!("variable {}", name.to_string_lossy()))?;
            }
        }
        None => {
            bytes +=
                std::env::vars_os().map(|(name, value)| name.len() + value.len() + 2 + POINTER_BYTES).sum::<usize>()
        }
    }
    let most = max_total_bytes();
    if bytes > most {
        return Err(format!("the arguments and the environment together have {bytes} bytes; the limit is {most}"));
    }
    Ok(())
}

/// Returns the number of bytes that an argument adds to the total. The error is the reason for refusing the argument.
fn argument_bytes(argument: &OsStr, name: impl Fn() -> String) -> Result<usize, String> {
    if argument.as_bytes().contains(&0) {
        return Err(format!("{} contains a NUL character; remove it", name()));
    }
    counted_bytes(argument.len(), name)
}

/// Returns the number of bytes that an argument or variable of this length adds to the total. Fails if the argument or
/// variable is too long.
fn counted_bytes(length: usize, name: impl FnOnce() -> String) -> Result<usize, String> {
    if length >= MAX_ARGUMENT_BYTES {
        let most = MAX_ARGUMENT_BYTES - 1;
        return Err(format!("{} has {length} bytes; the limit is {most}", name()));
    }
    Ok(length + 1 + POINTER_BYTES)
}

/// Returns the maximum total bytes of all arguments and variables. Computed as in Linux: a quarter of the stack limit,
/// but at least 128 KiB and at most 6 MiB.
fn max_total_bytes() -> usize {
    let stack = getrlimit(Resource::RLIMIT_STACK).map_or(8 << 20, |(soft, _)| soft);
    usize::try_from(stack / 4).unwrap_or(usize::MAX).clamp(128 << 10, 6 << 20)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use wh_core::terminal::Size;

    use super::*;

    fn program(words: &[&str], environment: &[(&str, &str)]) -> CreateSessionRequest {
        CreateSessionRequest {
            workload: Workload::Program(words.iter().map(OsString::from).collect()),
            name: None,
            team: None,
            directory: PathBuf::from("/"),
            size: Size { columns: 80, rows: 24 },
            environment: Some(environment.iter().map(|(name, value)| (name.into(), value.into())).collect()),
            idempotency_key: None,
            creators: Vec::new(),
            person: false,
        }
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_position() {
        let long = "x".repeat(MAX_ARGUMENT_BYTES);
        let fits = &long[1..];
        assert_eq!(check(&program(&["true", fits], &[("A", "b")])), Ok(()));
        assert!(check(&program(&["true", "a\0b"], &[])).unwrap_err().starts_with("argument 1 contains a NUL"));
        assert!(check(&program(&["true", &long], &[])).unwrap_err().starts_with("argument 1 has 131072 bytes"));
        assert!(check(&program(&["true"], &[("A", fits)])).unwrap_err().starts_with("variable A has"));
        let agent = |mode: &str, argument: &str| CreateSessionRequest {
            workload: Workload::Agent {
                agent: "demo".to_owned(),
                model: None,
                mode: Some(mode.to_owned()),
                may_skip_permissions: false,
                arguments: vec![argument.into()],
            },
            ..program(&[], &[])
        };
        assert!(check(&agent("a\0b", "x")).unwrap_err().starts_with("the mode contains a NUL"));
        assert!(check(&agent("x", "a\0b")).unwrap_err().starts_with("argument 0 contains a NUL"));
        let many = vec![fits; max_total_bytes() / fits.len() + 1];
        assert!(check(&program(&many, &[])).unwrap_err().contains("together"));
    }
}
