//! The house's walls: which room may know which, and how long a file may be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Who may depend on whom. `docs/architecture.md` says why.
const EDGES: [(&str, &[&str]); 15] = [
    ("wh-wire", &[]),
    ("wh-api", &["wh-wire"]),
    ("wh-core", &["wh-wire"]),
    ("wh-pipe", &["wh-wire"]),
    ("wh-claude", &["wh-pipe", "wh-wire"]),
    ("wh-screen", &["wh-core", "wh-pipe"]),
    ("wh-agents", &["wh-claude", "wh-core", "wh-pipe", "wh-wire"]),
    ("wh-demo", &["wh-agents", "wh-core"]),
    ("wh-client", &["wh-core", "wh-pipe", "wh-screen", "wh-wire"]),
    ("wh-engine", &["wh-agents", "wh-client", "wh-core", "wh-pipe", "wh-screen", "wh-wire"]),
    ("wh-doors", &["wh-client", "wh-core", "wh-screen", "wh-wire"]),
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
            "wh-doors",
            "wh-engine",
            "wh-pipe",
            "wh-screen",
            "wh-tui",
            "wh-wire",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates of the workspace, as cargo describes them.
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
fn every_direct_dependency_has_a_line_that_says_who_uses_it() {
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
        let Some((from, to)) = line.split_once('→') else {
            let nobody = line.split_whitespace().take_while(|word| *word != "know");
            drawn.extend(nobody.map(|name| (name.to_owned(), BTreeSet::new())));
            continue;
        };
        drawn.insert(from.trim().to_owned(), to.split(',').map(|name| name.trim().to_owned()).collect());
    }
    let short = |name: &str| name.strip_prefix("wh-").unwrap_or(name).to_owned();
    let edges: BTreeMap<String, BTreeSet<String>> =
        EDGES.iter().map(|(from, to)| (short(from), to.iter().map(|name| short(name)).collect())).collect();
    assert_eq!(drawn, edges);
    let wrapped: usize = page.lines().map(|line| line.chars().count().div_ceil(100).max(1)).sum();
    assert!(wrapped <= 250, "{wrapped} lines of 100 columns");
}

#[test]
fn rooms_know_only_the_rooms_that_they_may() {
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
fn only_the_screen_room_names_the_emulator() {
    for file in sources(&root().join("crates")) {
        let inside = file.components().any(|part| part.as_os_str() == "screen");
        // This file has to name it in order to look for it.
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
fn no_file_is_too_long_to_read() {
    for file in sources(&root().join("crates")) {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines: split it by subject", file.display());
    }
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
