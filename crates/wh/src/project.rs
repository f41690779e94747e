//! A project's own files, `.wheelhouse/agents.toml` and `.wheelhouse/config.toml`: where they are and what is in them.
//! That one is there does not mean that it may be used: whoever made the project wrote it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// A file of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFileName {
    /// Agents, which name programs to start.
    Agents,
    /// Settings.
    Config,
}

impl ProjectFileName {
    /// Every file that a project may have.
    pub const ALL: [Self; 2] = [Self::Agents, Self::Config];

    /// Its place in the project's directory.
    fn path(self) -> &'static str {
        match self {
            Self::Agents => ".wheelhouse/agents.toml",
            Self::Config => ".wheelhouse/config.toml",
        }
    }
}

/// No file is longer.
const LONGEST: u64 = 1 << 20;

/// The file as it was read: what is trusted and what is used are the same bytes.
#[derive(Debug)]
pub struct ProjectFile {
    /// The directory that it is for.
    pub directory: PathBuf,
    /// Where it really is.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
    /// The SHA-256 of that.
    pub digest: String,
}

/// The directory whose file counts for a run in `directory`: itself, or the nearest one above it, up to the root of the
/// repository or the person's home. Outside of both nobody knows who the directories above belong to.
pub fn find(directory: &Path, home: Option<&Path>, name: ProjectFileName) -> Option<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok());
    let ends = |place: &Path| is_repository(place) || home.as_deref() == Some(place);
    let above = directory.ancestors().position(ends).unwrap_or(0);
    directory.ancestors().take(above + 1).find(|directory| is_there(&place(directory, name))).map(Path::to_owned)
}

/// The root of the repository that a directory is in, or the directory itself.
pub fn root(directory: &Path) -> PathBuf {
    directory.ancestors().find(|place| is_repository(place)).unwrap_or(directory).to_owned()
}

/// A folder of that name alone makes no repository; a worktree has a file in its place.
fn is_repository(place: &Path) -> bool {
    place.join(".git").is_file() || place.join(".git/HEAD").exists()
}

/// Where a file of a directory is.
pub fn place(directory: &Path, name: ProjectFileName) -> PathBuf {
    directory.join(name.path())
}

/// Also one that cannot be looked at is there.
fn is_there(place: &Path) -> bool {
    match fs::symlink_metadata(place) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

impl ProjectFile {
    /// Reads a file of a directory.
    pub fn read(directory: &Path, name: ProjectFileName) -> io::Result<Self> {
        let path = place(directory, name).canonicalize()?;
        let text = read(&path, true)?;
        let digest = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { directory: directory.to_owned(), path, text, digest })
    }
}

/// What is in such a file. One that is not a person's own has to be a plain file.
pub fn read(path: &Path, plain: bool) -> io::Result<String> {
    // A pipe that nobody writes to must not keep us.
    let flags = if plain { nix::libc::O_NONBLOCK } else { 0 };
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if plain && !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => io::Error::other("it is not text in UTF-8"),
        _ => error,
    })?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(root: &Path, path: &str) {
        let place = place(&root.join(path), ProjectFileName::Agents);
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
    fn what_is_not_a_plain_short_text_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(at("bytes"), [0xff, 0xfe]).unwrap();
        fs::write(at("long"), vec![b'#'; 2 << 20]).unwrap();
        for (name, words) in
            [("pipe", "not a plain file"), (".", "not a plain file"), ("bytes", "UTF-8"), ("long", "longer than")]
        {
            let error = read(&at(name), true).unwrap_err();
            assert!(error.to_string().contains(words), "{name}: {error}");
        }
    }
}
