//! Finds and reads a project's `.wheelhouse/agents.toml` and `.wheelhouse/config.toml`. These files are untrusted input
//! until the user trusts them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFileName {
    /// File that defines agents and the programs that they start.
    Agents,
    /// File with settings of wh.
    Config,
}

impl ProjectFileName {
    /// All files that a project can have.
    pub const ALL: [Self; 2] = [Self::Agents, Self::Config];

    /// Returns the path of the file relative to the project's directory.
    fn path(self) -> &'static str {
        match self {
            Self::Agents => ".wheelhouse/agents.toml",
            Self::Config => ".wheelhouse/config.toml",
        }
    }
}

/// Maximum size of a settings or agents file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Contents of a project file. The file is read only once, so that the trust check and the parser see the same content.
#[derive(Debug)]
pub struct ProjectFile {
    /// Directory that contains `.wheelhouse`.
    pub directory: PathBuf,
    /// Canonical path of the file.
    pub path: PathBuf,
    pub text: String,
    /// SHA-256 of the text, in hexadecimal.
    pub digest: String,
}

/// Finds the nearest directory with the file: `directory` or a parent, up to the root of the repository or the home
/// directory. Outside of both only `directory` itself is searched, because other users may own its parents.
pub fn find(directory: &Path, home: Option<&Path>, name: ProjectFileName) -> Option<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok());
    let ends = |place: &Path| is_repository(place) || home.as_deref() == Some(place);
    let above = directory.ancestors().position(ends).unwrap_or(0);
    directory.ancestors().take(above + 1).find(|directory| may_exist(&file_path(directory, name))).map(Path::to_owned)
}

/// Returns the root of the repository, or the directory itself outside of a repository.
pub fn root(directory: &Path) -> PathBuf {
    directory.ancestors().find(|place| is_repository(place)).unwrap_or(directory).to_owned()
}

/// True if the directory is the root of a repository, or of a worktree, where `.git` is a file. An empty `.git`
/// directory does not count.
fn is_repository(place: &Path) -> bool {
    place.join(".git").is_file() || place.join(".git/HEAD").exists()
}

/// Returns the path of the file in a directory.
pub fn file_path(directory: &Path, name: ProjectFileName) -> PathBuf {
    directory.join(name.path())
}

/// True if the file exists or cannot be checked.
fn may_exist(place: &Path) -> bool {
    match fs::symlink_metadata(place) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

impl ProjectFile {
    pub fn read(directory: &Path, name: ProjectFileName) -> io::Result<Self> {
        let path = file_path(directory, name).canonicalize()?;
        let text = read(&path, true)?;
        let digest = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { directory: directory.to_owned(), path, text, digest })
    }
}

/// Reads a settings or agents file. If `plain` is true, as for project files, refuses anything except a regular file.
pub fn read(path: &Path, plain: bool) -> io::Result<String> {
    // Opening a pipe without a writer must not block.
    let flags = if plain { nix::libc::O_NONBLOCK } else { 0 };
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if plain && !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => io::Error::other("the file is not valid UTF-8"),
        _ => error,
    })?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("the file is longer than {} MiB", MAX_FILE_BYTES >> 20)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(root: &Path, path: &str) {
        let place = file_path(&root.join(path), ProjectFileName::Agents);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "").unwrap();
    }

    #[test]
    fn the_nearest_file_counts_up_to_the_root_of_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/main").unwrap();
        fs::create_dir_all(root.join("repo/a/b/c")).unwrap();
        make(&root, "");
        let found = |path: &str| {
            find(&root.join(path), None, ProjectFileName::Agents).map(|at| at.strip_prefix(&root).unwrap().to_owned())
        };
        assert_eq!(found("repo/a/b"), None, "what is above the repository is not of it");
        make(&root, "repo");
        assert_eq!(found("repo/a/b/c"), Some("repo".into()));
        make(&root, "repo/a/b");
        assert_eq!(found("repo/a/b/c"), Some("repo/a/b".into()));
        assert_eq!(found("repo/a"), Some("repo".into()));
    }

    #[test]
    fn outside_of_a_repository_it_is_looked_for_up_to_home_and_elsewhere_not_above() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/a/b")).unwrap();
        fs::create_dir_all(root.join("elsewhere/a")).unwrap();
        for path in ["", "home", "elsewhere"] {
            make(&root, path);
        }
        let found = |path: &str| find(&root.join(path), Some(&root.join("home")), ProjectFileName::Agents);
        assert_eq!(found("home/a/b"), Some(root.join("home")));
        assert_eq!(found("elsewhere/a"), None);
        assert_eq!(found("elsewhere"), Some(root.join("elsewhere")));
    }

    #[test]
    fn only_short_regular_text_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(at("bytes"), [0xff, 0xfe]).unwrap();
        fs::write(at("long"), vec![b'#'; 2 << 20]).unwrap();
        for (name, words) in
            [("pipe", "not a regular file"), (".", "not a regular file"), ("bytes", "UTF-8"), ("long", "longer than")]
        {
            let error = read(&at(name), true).unwrap_err();
            assert!(error.to_string().contains(words), "{name}: {error}");
        }
        let error = read(&at("long"), true).unwrap_err().to_string();
        assert_eq!(error, format!("the file is longer than {} MiB", MAX_FILE_BYTES >> 20));
    }
}
