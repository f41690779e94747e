//! Looks up executables on a search path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, eaccess};

/// Returns the path of an executable `program`: `program` itself if it contains a slash, else the first match in the
/// directories of `path`. Relative directories of `path` are skipped: they depend on the working directory, which may
/// not be trusted.
pub fn find_executable(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    candidates(program, path).find(|candidate| is_executable(candidate))
}

/// Returns the paths at which `program` may be, in order of preference.
pub(crate) fn candidates(program: &OsStr, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let candidate = has_slash(program).then(|| PathBuf::from(program));
    let directories = (candidate.is_none() && !program.is_empty()).then(|| std::env::split_paths(path));
    let directories = directories.into_iter().flatten().filter(|directory| directory.is_absolute());
    candidate.into_iter().chain(directories.map(move |directory| directory.join(program)))
}

pub(crate) fn has_slash(program: &OsStr) -> bool {
    program.as_bytes().contains(&b'/')
}

pub(crate) fn is_executable(candidate: &Path) -> bool {
    candidate.is_file() && eaccess(candidate, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_is_the_first_of_its_name_that_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] = ["first", "second", "third"].map(|name| {
            let directory = folder.path().join(name);
            fs::create_dir(&directory).unwrap();
            directory
        });
        fs::create_dir(first.join("tool")).unwrap();
        for (directory, mode) in [(&second, 0o644), (&third, 0o755)] {
            fs::write(directory.join("tool"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(directory.join("tool"), Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([&first, &second, &third]).unwrap();
        assert_eq!(find_executable("tool".as_ref(), &path), Some(third.join("tool")));
        assert_eq!(find_executable(third.join("tool").as_os_str(), "".as_ref()), Some(third.join("tool")));
        assert_eq!(find_executable(second.join("tool").as_os_str(), &path), None);
        assert_eq!(find_executable("other".as_ref(), &path), None);
        assert_eq!(find_executable("".as_ref(), &path), None);
    }

    #[test]
    fn a_path_into_the_present_directory_is_passed_over() {
        assert_eq!(find_executable("Cargo.toml".as_ref(), ".::src".as_ref()), None);
        assert_eq!(candidates("tool".as_ref(), ".:/bin:".as_ref()).collect::<Vec<_>>(), [Path::new("/bin/tool")]);
    }
}
