//! The temporary folder that the demo agent works in: a few small files, made when they are first needed, gone with the
//! agent. The files are so small that reading and writing them does not hold anybody up.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

/// The longest file that is written.
const LONGEST: usize = 256 * 1024;

/// The file that the edit trick changes.
pub(super) const GREETING: &str = "src/greeting.rs";

/// What the folder holds at first.
const FILES: [(&str, &str); 3] = [
    (
        "README.md",
        "# Harbour\n\nA project of three files, for the demo agent to work on.\n\nIt greets whoever comes in.\n",
    ),
    (
        GREETING,
        "//! How visitors are greeted.\n\n/// Greets somebody by name.\npub fn greet(name: &str) -> String {\n    \
         let word = \"Hello\";\n    format!(\"{word}, {name}!\")\n}\n",
    ),
    (
        "src/main.rs",
        "mod greeting;\n\nfn main() {\n    // Whoever comes in is greeted.\n    println!(\"{}\", \
         greeting::greet(\"visitor\"));\n}\n",
    ),
];

/// The folder, or where it is going to be.
#[derive(Debug)]
pub(super) struct Folder {
    /// Where to make it; the system's place for such things without one.
    place: Option<PathBuf>,
    made: Option<TempDir>,
}

impl Folder {
    /// A folder that is not there yet.
    pub fn new(place: Option<PathBuf>) -> Self {
        Self { place, made: None }
    }

    /// Takes it away, with all that it holds.
    pub fn remove(&mut self) {
        // What could not be taken away is in the system's place for such things, which is swept.
        let _ = self.made.take().map(TempDir::close);
    }

    fn root(&mut self) -> io::Result<&Path> {
        if self.made.is_none() {
            let mut builder = tempfile::Builder::new();
            builder.prefix("wh-demo-");
            let made = match &self.place {
                Some(place) => builder.tempdir_in(place)?,
                None => builder.tempdir()?,
            };
            for (name, content) in FILES {
                write(&made.path().join(name), content)?;
            }
            self.made = Some(made);
        }
        self.made.as_ref().map(TempDir::path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// The names of its files, in order.
    pub fn names(&mut self) -> io::Result<Vec<String>> {
        let root = self.root()?.to_owned();
        let mut names = Vec::new();
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    open.push(entry.path());
                } else if let Ok(name) = entry.path().strip_prefix(&root) {
                    names.push(name.to_string_lossy().into_owned());
                }
            }
        }
        names.sort();
        Ok(names)
    }

    /// What a file holds.
    pub fn read(&mut self, name: &str) -> Result<String, String> {
        let path = self.inside(name)?;
        fs::read_to_string(path).map_err(|error| format!("{name} cannot be read: {error}"))
    }

    /// Writes a file, and says what it held before.
    pub fn write(&mut self, name: &str, content: &str) -> Result<Option<String>, String> {
        if content.len() > LONGEST {
            return Err(format!("{name} would have {} bytes; at most {LONGEST} are written", content.len()));
        }
        let path = self.inside(name)?;
        let old = fs::read_to_string(&path).ok();
        write(&path, content).map_err(|error| format!("{name} cannot be written: {error}"))?;
        Ok(old)
    }

    /// The path of a file in here, and of none elsewhere.
    fn inside(&mut self, name: &str) -> Result<PathBuf, String> {
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || !plain {
            return Err(format!("{name:?} is not the name of a file in the demo's folder"));
        }
        let root = self.root().map_err(|error| format!("the demo's folder cannot be made: {error}"))?;
        Ok(root.join(name))
    }
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_when_needed_and_taken_away_whole() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(Some(place.path().to_owned()));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        assert_eq!(folder.names().unwrap(), ["README.md", "src/greeting.rs", "src/main.rs"]);
        assert_eq!(folder.write("notes/new.txt", "new"), Ok(None));
        assert_eq!(folder.write("notes/new.txt", "newer"), Ok(Some("new".to_owned())));
        assert_eq!(folder.read("notes/new.txt").unwrap(), "newer");
        folder.remove();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_outside_is_read_or_written() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(Some(place.path().to_owned()));
        for name in ["", "/etc/hostname", "../beside", "src/../../beside", "."] {
            assert!(folder.read(name).is_err(), "{name}");
            assert!(folder.write(name, "x").is_err(), "{name}");
        }
        assert!(folder.write("big", &"x".repeat(LONGEST + 1)).is_err());
    }
}
