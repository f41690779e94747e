//! The files that an `@` may name.

use std::path::Path;

use ignore::WalkBuilder;

/// How far a listing goes: a home directory must not hold up a keystroke for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    /// As many files and folders are looked at.
    pub most: usize,
    /// As many folders deep.
    pub depth: usize,
}

impl Default for Files {
    fn default() -> Self {
        Self { most: 20_000, depth: 12 }
    }
}

/// The files and folders below `root`, relative to it, sorted, folders with a `/` at the end. What git ignores is left
/// out, and git's own folder; so are names that cannot be typed. It reads the disk: not for a thread that draws.
#[must_use]
pub fn list(root: &Path, files: Files) -> Vec<String> {
    let walk = WalkBuilder::new(root)
        .max_depth(Some(files.depth))
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut found = Vec::new();
    for entry in walk.flatten().take(files.most) {
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        if path.is_empty() || path.contains(|character: char| character.is_control() || character.is_whitespace()) {
            continue;
        }
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        found.push(if folder { format!("{path}/") } else { path.to_owned() });
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_git_ignores_is_not_listed() {
        let root = tempfile::tempdir().unwrap();
        for folder in [".git", "src/deep", "target"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for (file, content) in [
            (".gitignore", "target\n*.log\n"),
            (".git/HEAD", ""),
            ("src/main.rs", ""),
            ("src/deep/日本.rs", ""),
            ("src/two words.rs", ""),
            ("target/out", ""),
            ("a.log", ""),
        ] {
            fs::write(root.path().join(file), content).unwrap();
        }
        assert_eq!(
            list(root.path(), Files::default()),
            [".gitignore", "src/", "src/deep/", "src/deep/日本.rs", "src/main.rs"]
        );
        assert_eq!(list(root.path(), Files { depth: 1, ..Files::default() }), [".gitignore", "src/"]);
        assert_eq!(list(root.path(), Files { most: 1, ..Files::default() }), [] as [&str; 0]);
        assert_eq!(list(&root.path().join("nowhere"), Files::default()), [] as [&str; 0]);
    }
}
