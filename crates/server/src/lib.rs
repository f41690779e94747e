//! The HTTP server and the socket server. Both servers translate between a protocol and [`wh_client`] calls and make no
//! decisions.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test ends what it starts"))]

pub mod http;

mod admission;
mod bodies;
mod closing;
#[cfg(test)]
mod fakes;
mod feed;
mod new_session;
mod receipts;
mod slots;
pub mod socket;

pub use bodies::agents::agent_reply_body;
pub use closing::ShutdownWatch;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(path: &Path) -> Vec<PathBuf> {
        match path.is_dir() {
            true => fs::read_dir(path).unwrap().flat_map(|entry| sources(&entry.unwrap().path())).collect(),
            false => vec![path.to_owned()],
        }
    }

    #[test]
    fn http_and_socket_do_not_depend_on_each_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut seen = [0, 0, 0];
        for file in sources(&root).into_iter().filter(|file| !file.ends_with("lib.rs")) {
            let (room, others): (usize, &[&str]) = match file.strip_prefix(&root).unwrap() {
                inside if inside.starts_with("http") => (0, &["crate::socket"]),
                inside if inside.starts_with("socket") => (1, &["crate::http"]),
                _ => (2, &["crate::http", "crate::socket"]),
            };
            seen[room] += 1;
            let text = fs::read_to_string(&file).unwrap();
            for other in others {
                assert!(!text.contains(other), "{} names {other}", file.display());
            }
        }
        assert!(seen.iter().all(|files| *files > 1), "{seen:?}");
    }
}
