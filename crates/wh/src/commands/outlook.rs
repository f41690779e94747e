//! Sessions of a daemon that does not run: how many the next one restores.

use wh_engine::sessions::Outlook;
use wh_engine::store::StoreError;

use crate::daemon::Place;
use crate::print::clean_line;

/// Names that are listed before the rest is only counted.
const MAX_NAMES: usize = 10;

/// The sessions that the next daemon would find, in words; with `all` also those that have ended. Nothing if there are none.
pub fn lines(place: &Place, all: bool) -> Vec<String> {
    match Outlook::read(&place.store()) {
        Ok(Some(outlook)) => words(&outlook, all),
        Ok(None) => Vec::new(),
        Err(StoreError::Corrupt(why)) => {
            let store = place.store();
            vec![format!(
                "the store in {} is damaged ({why}); wh daemon start keeps it under another name and begins a new one",
                store.display()
            )]
        }
        Err(error) => vec![format!("it is not known which sessions can be restored: {error}")],
    }
}

fn words(outlook: &Outlook, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let Outlook { restorable, lost, ended } = outlook;
    if !restorable.is_empty() {
        lines.push(format!("wh daemon start restores {}: {}", sessions(restorable.len()), names(restorable)));
    }
    if !lost.is_empty() {
        lines.push(format!("{} cannot be restored: {}", sessions(lost.len()), names(lost)));
    }
    if all && *ended > 0 {
        lines.push(format!("{} ended earlier; wh logs shows them while a daemon runs", sessions(*ended)));
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
            Outlook { restorable: vec!["a".to_owned(), "b".to_owned()], lost: vec!["sh".to_owned()], ended: 3 };
        assert_eq!(
            words(&outlook, false),
            ["wh daemon start restores 2 sessions: a, b", "1 session cannot be restored: sh"]
        );
        assert_eq!(words(&outlook, true)[2], "3 sessions ended earlier; wh logs shows them while a daemon runs");
        assert_eq!(words(&Outlook::default(), true), [""; 0]);
    }
}
