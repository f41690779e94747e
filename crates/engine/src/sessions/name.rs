//! Validates session names, derives them from a program or agent, and generates random session ids.

use std::io::Read;
use std::path::Path;

use wh_client::Workload;

/// Maximum bytes of a session name.
const MAX_NAME_BYTES: usize = 64;

/// Characters of a session id. Letters that look like others are excluded.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Number of characters in a session id.
const ID_LENGTH: usize = 10;

/// True if the name is valid. A valid name needs no quotes in a shell and is a valid path component.
pub(super) fn is_valid(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= MAX_NAME_BYTES
        && name.bytes().all(letters)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// Derives a name from the program or agent. Appends a number if the name is in `taken`.
pub(super) fn find(what: &Workload, taken: &[String]) -> String {
    let base = match what {
        Workload::Agent { agent, .. } => agent.clone(),
        Workload::Program(command) => {
            let word = command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
            word.to_string_lossy().into_owned()
        }
    };
    let mut base: String =
        base.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter)).collect();
    base.truncate(MAX_NAME_BYTES - 8);
    if !is_valid(&base) {
        base = "session".to_owned();
    }
    let numbered = (2_u64..).map(|number| format!("{base}-{number}"));
    let mut names = std::iter::once(base.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(base)
}

pub(super) fn id() -> String {
    let mut bytes = [0; ID_LENGTH];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        // If no random bytes are available, the id is derived from the time and the process id.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let mixed = now ^ (u128::from(std::process::id()) << 64);
        bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = (mixed >> (index * 5)) as u8);
    }
    bytes.iter().map(|byte| char::from(ID_ALPHABET[usize::from(byte % 32)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        for name in ["a", "build-2", "x.y_z", "7"] {
            assert!(is_valid(name), "{name}");
        }
        for name in ["", "-a", ".hidden", "a b", "a/b", "ä", "..", &"x".repeat(65)] {
            assert!(!is_valid(name), "{name}");
        }
    }

    #[test]
    fn a_name_is_found_that_nobody_has() {
        let agent = |agent: &str| Workload::Agent {
            agent: agent.to_owned(),
            model: None,
            mode: None,
            may_skip_permissions: false,
            arguments: vec![],
        };
        assert_eq!(find(&agent("demo"), &[]), "demo");
        assert_eq!(find(&agent("demo"), &["demo".to_owned(), "demo-2".to_owned()]), "demo-3");
        assert_eq!(find(&Workload::Program(vec!["/usr/bin/vim".into()]), &[]), "vim");
        assert_eq!(find(&Workload::Program(vec!["/".into()]), &[]), "session");
    }

    #[test]
    fn ids_differ() {
        let (one, other) = (id(), id());
        assert!(one != other && is_valid(&one) && one.len() == ID_LENGTH);
    }
}
