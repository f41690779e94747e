//! Lists the files that can complete an `@` in the composer.

use std::path::Path;

use ignore::WalkBuilder;

/// Limits of a file listing, so that listing a large directory such as a home directory does not take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileListLimits {
    /// Maximum number of files and directories that the listing visits.
    pub most: usize,
    /// Maximum depth of directories that the listing visits.
    pub depth: usize,
}

impl Default for FileListLimits {
    fn default() -> Self {
        Self { most: 20_000, depth: 12 }
    }
}

/// Lists the files and directories below `root` as sorted relative paths; directories end with `/`. Files that git
/// ignores, `.git`, and names that contain whitespace or control characters are omitted. Blocks on disk access and must
/// not be called in the event loop.
#[must_use]
pub fn list(root: &Path, files: FileListLimits) -> Vec<String> {
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
    fn files_ignored_by_git_are_not_listed() {
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
            list(root.path(), FileListLimits::default()),
            [".gitignore", "src/", "src/deep/", "src/deep/日本.rs", "src/main.rs"]
        );
        assert_eq!(list(root.path(), FileListLimits { depth: 1, ..FileListLimits::default() }), [".gitignore", "src/"]);
        assert_eq!(list(root.path(), FileListLimits { most: 1, ..FileListLimits::default() }), [] as [&str; 0]);
        assert_eq!(list(&root.path().join("nowhere"), FileListLimits::default()), [] as [&str; 0]);
    }
}
