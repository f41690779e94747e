//! Describes the stored sessions while the daemon is not running: sessions that the next start restores, sessions that
//! cannot be restored, and ended sessions.

use wh_engine::sessions::RestorePreview;
use wh_engine::store::StoreError;

use crate::daemon::DaemonPaths;
use crate::print::clean_line;

/// Maximum number of session names in one message.
const MAX_NAMES: usize = 10;

/// Returns messages about the stored sessions. Counts ended sessions only if `all` is true. Empty if there is nothing
/// to report.
pub fn lines(paths: &DaemonPaths, all: bool) -> Vec<String> {
    match RestorePreview::read(&paths.store()) {
        Ok(Some(outlook)) => summary(&outlook, all),
        Ok(None) => Vec::new(),
        Err(StoreError::Corrupt(why)) => {
            let store = paths.store();
            vec![format!(
                "the store in {} is damaged ({why}); `wh daemon start` renames it and creates a new store",
                store.display()
            )]
        }
        Err(error) => vec![format!("cannot read the list of stored sessions: {error}")],
    }
}

fn summary(outlook: &RestorePreview, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let RestorePreview { restorable, lost, ended } = outlook;
    if !restorable.is_empty() {
        lines.push(format!("`wh daemon start` restores {}: {}", sessions(restorable.len()), names(restorable)));
    }
    if !lost.is_empty() {
        lines.push(format!("{} cannot be restored: {}", sessions(lost.len()), names(lost)));
    }
    if all && *ended > 0 {
        lines.push(format!(
            "{} ended earlier; to see the output, start the daemon and run `wh logs SESSION`",
            sessions(*ended)
        ));
    }
    lines
}

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") }
}

fn names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| clean_line(name)).collect();
    let more = if names.len() > MAX_NAMES { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_and_named() {
        let outlook =
            RestorePreview { restorable: vec!["a".to_owned(), "b".to_owned()], lost: vec!["sh".to_owned()], ended: 3 };
        assert_eq!(
            summary(&outlook, false),
            ["`wh daemon start` restores 2 sessions: a, b", "1 session cannot be restored: sh"]
        );
        assert_eq!(
            summary(&outlook, true)[2],
            "3 sessions ended earlier; to see the output, start the daemon and run `wh logs SESSION`"
        );
        assert_eq!(summary(&RestorePreview::default(), true), [""; 0]);
    }
}
