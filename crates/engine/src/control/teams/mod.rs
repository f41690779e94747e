//! Teams on disk: members, their roles, and the tokens that authenticate them.
//!
//! ```text
//! teams/<team>/config.json
//!     {"name", "members": [{"name", "agentId"?, "role"?, …}], "roles"?: {"<role>": {"allow": [], "deny": []}}, …}
//! teams/<team>/credentials/<member>.token   32 random bytes in base64url, mode 0600
//! ```
//!
//! `config.json` is shared with other tools; wh adds `role` and `roles` and keeps unknown fields. A team whose files
//! cannot be read, or can be written by other users, is ignored and reported: invalid files grant no access.

mod config;
mod credential;
#[cfg(test)]
mod tests;

pub use credential::MemberToken;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wh_core::gate::{MemberId, Policy};

use super::private;
use credential::TokenDigest;

/// Team that is created on the first start.
pub const DEFAULT_TEAM: &str = "default";

/// Name of the user who started wh, as a member of the default team.
pub const LOCAL_MEMBER: &str = "local";

/// Maximum bytes of a `config.json`.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// Teams as last read from disk.
#[derive(Debug)]
pub struct Teams {
    root: PathBuf,
    policy: Policy,
    credentials: Vec<(MemberId, TokenDigest)>,
    problems: Vec<String>,
    stamp: FileMetadataByPath,
}

/// Metadata by path, to detect changes of files and folders: inode, size, mode and change time.
type FileMetadataByPath = BTreeMap<PathBuf, (u64, u64, u32, i64, i64)>;

impl Teams {
    /// Reads the teams in a folder, which is created if needed. If there are no teams, creates the default team with
    /// the local user as its member.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        private::folder(&root)?;
        let stamp = FileMetadataByPath::new();
        let mut teams = Self { root, policy: Policy::default(), credentials: vec![], problems: vec![], stamp };
        if teams.names()?.is_empty() {
            teams.add(DEFAULT_TEAM, LOCAL_MEMBER, None)?;
        }
        teams.load()?;
        Ok(teams)
    }

    /// Returns the members of all teams and their permissions.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the reasons why teams or members were ignored.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Reads all teams again if a file has changed. Returns true if a file has changed.
    pub fn refresh(&mut self) -> io::Result<bool> {
        let changed = stamp(&self.root)? != self.stamp;
        if changed {
            self.load()?;
        }
        Ok(changed)
    }

    /// Returns the member with this token. Always compares all tokens, so that the duration does not depend on a match.
    pub fn verify(&self, token: &str) -> Option<MemberId> {
        let shown = TokenDigest::of(token);
        let mut found = None;
        for (member, digest) in &self.credentials {
            if digest.same(&shown) {
                found = Some(member);
            }
        }
        found.filter(|member| self.is_member(member)).cloned()
    }

    fn is_member(&self, id: &MemberId) -> bool {
        self.policy.teams.get(&id.team).is_some_and(|team| team.members.contains_key(&id.member))
    }

    /// Adds a member with a new credential, and creates the team if needed. Returns the path of the credential. An
    /// existing member keeps its credential, and gets the new role if `role` is given.
    pub fn add(&mut self, team: &str, member: &str, role: Option<&str>) -> io::Result<PathBuf> {
        check_names(&[team, member])?;
        let folder = self.root.join(team);
        private::folder(&folder)?;
        let path = folder.join("config.json");
        let mut config = match private::read(&path, false, MAX_CONFIG_BYTES) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| named(&path, &error.to_string()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => json!({"name": team, "members": []}),
            Err(error) => return Err(error),
        };
        let changed = config::add_member(&mut config, team, member, role).map_err(|problem| named(&path, &problem))?;
        config::read(team, &config).map_err(|problem| named(&path, &problem))?;
        let credential = self.credential_path(team, member);
        private::folder(&folder.join("credentials"))?;
        if fs::symlink_metadata(&credential).is_err() {
            private::write(&credential, format!("{}\n", MemberToken::new()?.as_str()).as_bytes())?;
        }
        if changed {
            write_config(&path, &config)?;
        }
        self.load()?;
        Ok(credential)
    }

    /// Removes a member and its credential. Returns true if the member existed.
    pub fn remove(&mut self, team: &str, member: &str) -> io::Result<bool> {
        check_names(&[team, member])?;
        // The credential is removed first, so that it is invalid even if the next step fails.
        let credential = match fs::remove_file(self.credential_path(team, member)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            removed => removed.is_ok(),
        };
        let path = self.root.join(team).join("config.json");
        let listed = match private::read(&path, false, MAX_CONFIG_BYTES) {
            Ok(text) => {
                let mut config = serde_json::from_str(&text).map_err(|error| named(&path, &error.to_string()))?;
                let listed = config::remove_member(&mut config, member).map_err(|problem| named(&path, &problem))?;
                if listed {
                    write_config(&path, &config)?;
                }
                listed
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        self.load()?;
        Ok(credential || listed)
    }

    /// Reads the token of a member, for a client that runs as the same user.
    pub fn credential(&self, team: &str, member: &str) -> io::Result<MemberToken> {
        credential::read(&self.credential_path(team, member))
    }

    /// Returns one readable token per team, for a client that runs as the same user.
    pub fn credentials(&self) -> Vec<MemberToken> {
        let of_team = |(team, members): (&String, &wh_core::gate::Team)| {
            members.members.keys().find_map(|member| self.credential(team, member).ok())
        };
        self.policy.teams.iter().filter_map(of_team).collect()
    }

    fn credential_path(&self, team: &str, member: &str) -> PathBuf {
        self.root.join(team).join("credentials").join(format!("{member}.token"))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            match entry.file_name().into_string() {
                Ok(name) if is_name(&name) && entry.path().is_dir() => names.push(name),
                _ => {}
            }
        }
        names.sort();
        Ok(names)
    }

    fn load(&mut self) -> io::Result<()> {
        // The metadata is collected before the files are read, so that the next refresh detects a change during the
        // reading.
        let stamp = stamp(&self.root)?;
        let (mut policy, mut credentials, mut problems) = (Policy::default(), Vec::new(), Vec::new());
        for name in self.names()? {
            match self.read_team(&name) {
                Ok(team) => {
                    for member in team.members.keys() {
                        let path = self.credential_path(&name, member);
                        match credential::read(&path) {
                            Ok(token) => {
                                let id = MemberId { team: name.clone(), member: member.clone() };
                                credentials.push((id, TokenDigest::of(token.as_str())));
                            }
                            // The member has no credential yet.
                            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                            Err(error) => problems.push(error.to_string()),
                        }
                    }
                    policy.teams.insert(name, team);
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        let copied = credential::copied(&credentials);
        for member in &copied {
            problems
                .push(format!("{member}: another member has the same token; remove {member}, and add {member} again"));
        }
        credentials.retain(|(member, _)| !copied.contains(member));
        (self.policy, self.credentials, self.problems, self.stamp) = (policy, credentials, problems, stamp);
        Ok(())
    }

    fn read_team(&self, name: &str) -> io::Result<wh_core::gate::Team> {
        let folder = self.root.join(name);
        private::folder(&folder)?;
        let path = folder.join("config.json");
        let text = private::read(&path, false, MAX_CONFIG_BYTES)?;
        let config: Value = serde_json::from_str(&text).map_err(|error| named(&path, &error.to_string()))?;
        config::read(name, &config).map_err(|problem| named(&path, &problem))
    }
}

/// True if the text is a valid name of a team or member. Such a name is safe as a file name.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn check_names(names: &[&str]) -> io::Result<()> {
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "{name:?} is not a valid name of a team or member; use at most 64 letters, digits, \".\", \"_\" \
                 and \"-\", and do not begin with \".\""
            ),
        )),
        None => Ok(()),
    }
}

fn write_config(path: &Path, config: &Value) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(config)?;
    text.push(b'\n');
    private::write(path, &text)
}

fn named(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!("{}: {problem}", path.display()))
}

/// Collects the metadata of all files and folders in the teams folder.
fn stamp(root: &Path) -> io::Result<FileMetadataByPath> {
    let mut stamp = FileMetadataByPath::new();
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((path, depth)) = open.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let marks = (metadata.ino(), metadata.size(), metadata.mode(), metadata.ctime(), metadata.ctime_nsec());
        // There are three levels of folders: all teams, one team, and the credentials of a team.
        if metadata.is_dir() && depth < 3 {
            for entry in fs::read_dir(&path)? {
                open.push((entry?.path(), depth + 1));
            }
        }
        stamp.insert(path, marks);
    }
    Ok(stamp)
}
