//! Temporary working directory of the demo agent. The files are created on first use and deleted when the agent ends.
//! They are so small that blocking file access is acceptable.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

/// Maximum size of a file that the agent writes.
const MAX_DEMO_FILE_BYTES: usize = 256 * 1024;

/// File that the tricks `edit` and `tour` change.
pub(super) const GREETING: &str = "src/greeting.rs";

/// Names and contents of the files in a new working directory.
const INITIAL_FILES: [(&str, &str); 3] = [
    ("README.md", "# Harbour\n\nA project of three files, for the demo agent to work on.\n\nIt greets visitors.\n"),
    (
        GREETING,
        "//! How visitors are greeted.\n\n/// Greets a visitor by name.\npub fn greet(name: &str) -> String {\n    \
         let word = \"Hello\";\n    format!(\"{word}, {name}!\")\n}\n",
    ),
    (
        "src/main.rs",
        "mod greeting;\n\nfn main() {\n    // Greets the visitor.\n    println!(\"{}\", \
         greeting::greet(\"visitor\"));\n}\n",
    ),
];

/// Temporary working directory, created on first use.
#[derive(Debug)]
pub(super) struct DemoDirectory {
    /// Parent of the working directory; `None` for the temporary directory of the system.
    parent: Option<PathBuf>,
    made: Option<TempDir>,
}

impl DemoDirectory {
    /// Prepares a working directory without creating it.
    pub fn new(parent: Option<PathBuf>) -> Self {
        Self { parent, made: None }
    }

    /// Deletes the directory and all files in it.
    pub fn remove(&mut self) {
        // A failure leaves files in a temporary directory, which the system cleans up.
        let _ = self.made.take().map(TempDir::close);
    }

    fn root(&mut self) -> io::Result<&Path> {
        if self.made.is_none() {
            let mut builder = tempfile::Builder::new();
            builder.prefix("wh-demo-");
            let made = match &self.parent {
                Some(parent) => builder.tempdir_in(parent)?,
                None => builder.tempdir()?,
            };
            for (name, content) in INITIAL_FILES {
                write(&made.path().join(name), content)?;
            }
            self.made = Some(made);
        }
        self.made.as_ref().map(TempDir::path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Returns the sorted names of all files in the directory.
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

    pub fn read(&mut self, name: &str) -> Result<String, String> {
        let path = self.inside(name)?;
        fs::read_to_string(path).map_err(|error| format!("{name} cannot be read: {error}"))
    }

    /// Writes a file and returns the previous content of that file, if it existed.
    pub fn write(&mut self, name: &str, content: &str) -> Result<Option<String>, String> {
        if content.len() > MAX_DEMO_FILE_BYTES {
            return Err(format!("{name} would have {} bytes; the limit is {MAX_DEMO_FILE_BYTES}", content.len()));
        }
        let path = self.inside(name)?;
        let old = fs::read_to_string(&path).ok();
        write(&path, content).map_err(|error| format!("{name} cannot be written: {error}"))?;
        Ok(old)
    }

    /// Returns the path of a file in the directory. Rejects a name that leads outside the directory.
    fn inside(&mut self, name: &str) -> Result<PathBuf, String> {
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || !plain {
            return Err(format!("{name:?} is not the name of a file in the demo agent's directory"));
        }
        let root = self.root().map_err(|error| format!("the demo agent's directory cannot be created: {error}"))?;
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
    fn it_is_created_when_needed_and_deleted_with_its_content() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = DemoDirectory::new(Some(place.path().to_owned()));
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
        let mut folder = DemoDirectory::new(Some(place.path().to_owned()));
        for name in ["", "/etc/hostname", "../beside", "src/../../beside", "."] {
            assert!(folder.read(name).is_err(), "{name}");
            assert!(folder.write(name, "x").is_err(), "{name}");
        }
        assert!(folder.write("big", &"x".repeat(MAX_DEMO_FILE_BYTES + 1)).is_err());
    }
}
