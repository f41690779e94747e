//! Structure rules: allowed dependencies between crates, and the maximum length of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Allowed dependencies of each crate. `docs/architecture.md` has the reasons.
const EDGES: [(&str, &[&str]); 16] = [
    ("wh-wire", &[]),
    ("wh-api", &["wh-wire"]),
    ("wh-core", &["wh-wire"]),
    ("wh-pipe", &["wh-wire"]),
    ("wh-claude", &["wh-pipe", "wh-wire"]),
    ("wh-screen", &["wh-core", "wh-pipe"]),
    ("wh-agents", &["wh-claude", "wh-core", "wh-pipe", "wh-screen", "wh-wire"]),
    ("wh-hook", &["wh-wire"]),
    ("wh-demo", &["wh-agents", "wh-core"]),
    ("wh-client", &["wh-core", "wh-pipe", "wh-screen", "wh-wire"]),
    ("wh-engine", &["wh-agents", "wh-client", "wh-core", "wh-pipe", "wh-screen", "wh-wire"]),
    ("wh-server", &["wh-client", "wh-core", "wh-screen", "wh-wire"]),
    ("wh-bench", &["wh-api", "wh-engine", "wh-testkit"]),
    ("wh-testkit", &["wh-agents", "wh-api", "wh-core", "wh-pipe"]),
    ("wh-tui", &["wh-client", "wh-core", "wh-screen"]),
    (
        "wh",
        &[
            "wh-agents",
            "wh-api",
            "wh-client",
            "wh-core",
            "wh-demo",
            "wh-hook",
            "wh-server",
            "wh-engine",
            "wh-pipe",
            "wh-screen",
            "wh-tui",
            "wh-wire",
        ],
    ),
];

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the metadata of all crates of the workspace.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo is there");
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo says JSON");
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("a list of packages, and not {other}"),
    }
}

#[test]
fn every_direct_dependency_is_listed_with_the_crates_that_use_it() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = page.split_once("## Dependencies").expect("a chapter on dependencies");
    let rows: Vec<(&str, &str)> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('|'))
        .map(|(names, rest)| (names, rest.split('|').next().unwrap_or_default()))
        .collect();
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        let room = name.strip_prefix("wh-").unwrap_or(name);
        for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
            let other = dependency["name"].as_str().expect("a name");
            if name == "wh-testkit" || other.starts_with("wh-") || !dependency["kind"].is_null() {
                continue;
            }
            let of = |names: &str| names.split(',').any(|one| one.trim().trim_matches('`') == other);
            let lines: Vec<&str> = rows.iter().filter(|(names, _)| of(names)).map(|(_, users)| *users).collect();
            assert_eq!(lines.len(), 1, "docs/architecture.md has {} lines for {other}", lines.len());
            let words = lines[0].split(|character: char| !character.is_ascii_alphanumeric());
            assert!(words.into_iter().any(|word| word == room), "docs/architecture.md: {other} is used by {room}, too");
        }
    }
}

#[test]
fn the_architecture_page_has_these_edges_and_is_short() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, block) = page.split_once("```text\n").expect("a diagram");
    let (block, _) = block.split_once("```").expect("the end of the diagram");
    let mut drawn: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in block.lines() {
        let (from, to) = line.split_once('→').expect("a crate and the crates that it knows");
        let to = to.split(',').map(|name| name.trim().to_owned()).filter(|name| name != "nothing");
        drawn.insert(from.trim().to_owned(), to.collect());
    }
    let short = |name: &str| name.strip_prefix("wh-").unwrap_or(name).to_owned();
    let edges: BTreeMap<String, BTreeSet<String>> =
        EDGES.iter().map(|(from, to)| (short(from), to.iter().map(|name| short(name)).collect())).collect();
    assert_eq!(drawn, edges);
    let wrapped: usize = page.lines().map(|line| line.chars().count().div_ceil(100).max(1)).sum();
    assert!(wrapped <= 250, "{wrapped} lines of 100 columns");
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    let allowed: BTreeMap<&str, &[&str]> = EDGES.into_iter().collect();
    let mut seen = 0;
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        seen += 1;
        let allowed = allowed.get(name).unwrap_or_else(|| panic!("{name} is a new room: say here whom it may know"));
        let dependencies = package["dependencies"].as_array().expect("a list of dependencies").iter();
        let ours = dependencies.filter(|dependency| dependency["kind"].as_str() != Some("dev"));
        let ours = ours.map(|dependency| dependency["name"].as_str().expect("a name"));
        let ours: BTreeSet<&str> = ours.filter(|other| *other == "wh" || other.starts_with("wh-")).collect();
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        let forbidden: Vec<&&str> = ours.difference(&allowed).collect();
        assert!(forbidden.is_empty(), "{name} must not depend on {forbidden:?}");
        let unused: Vec<&&str> = allowed.difference(&ours).collect();
        assert!(unused.is_empty(), "{name} may depend on {unused:?} and does not: take the edges out");
    }
    assert_eq!(seen, EDGES.len());
}

#[test]
fn only_the_screen_crate_names_the_emulator() {
    for file in files(&root().join("crates"), "rs") {
        let inside = file.components().any(|part| part.as_os_str() == "screen");
        // This file contains the name because it searches for it.
        if inside || file.ends_with("edges.rs") {
            continue;
        }
        assert!(
            !fs::read_to_string(&file).unwrap().contains("alacritty_terminal"),
            "{} names the emulator",
            file.display()
        );
    }
}

#[test]
fn files_have_at_most_600_lines() {
    for file in files(&root().join("crates"), "rs") {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines: split it by subject", file.display());
    }
}

/// Returns all files below `directory` with this extension.
pub fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|of_file| of_file == extension) {
            found.push(path);
        }
    }
    found
}
