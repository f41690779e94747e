//! Codecs with captured messages of the real programs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod acp;
mod claude;
mod codex;
mod socket;

/// Checks that every capture file is used by a test.
#[test]
fn no_capture_is_left_unread() {
    let sources = [include_str!("acp.rs"), include_str!("codex.rs"), include_str!("claude/mod.rs")].concat();
    let wires = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/wires");
    let names = std::fs::read_dir(wires).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let unread: Vec<String> =
        names.filter(|name| name.ends_with(".wire") && !sources.contains(&format!("wires/{name}"))).collect();
    assert!(unread.is_empty(), "{unread:?}");
}
