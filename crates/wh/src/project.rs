//! A project's own file about agents, `.wheelhouse/agents.toml`: where it is and what is in it. That it is there does not
//! mean that it may be used: whoever made the project wrote it, and it says which programs are started.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What is looked for in a directory.
const NAME: &str = ".wheelhouse/agents.toml";

/// No list of agents is longer.
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
pub fn find(directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok());
    // A folder of that name alone makes no repository; a worktree has a file in its place.
    let repository = |place: &Path| place.join(".git").is_file() || place.join(".git/HEAD").exists();
    let ends = |place: &Path| repository(place) || home.as_deref() == Some(place);
    let above = directory.ancestors().position(ends).unwrap_or(0);
    directory.ancestors().take(above + 1).find(|place| is_there(&place.join(NAME))).map(Path::to_owned)
}

/// Where the file of a directory is.
pub fn place(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// Also one that cannot be looked at is there.
fn is_there(place: &Path) -> bool {
    match fs::symlink_metadata(place) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

impl ProjectFile {
    /// Reads the file of a directory.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let path = place(directory).canonicalize()?;
        let text = read(&path, true)?;
        let digest = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { directory: directory.to_owned(), path, text, digest })
    }
}

/// What is in a file about agents. One that is not a person's own has to be a plain file.
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
        let place = place(&root.join(path));
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
        let found = |path: &str| find(&root.join(path), None).map(|at| at.strip_prefix(&root).unwrap().to_owned());
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
        let found = |path: &str| find(&root.join(path), Some(&root.join("home")));
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
