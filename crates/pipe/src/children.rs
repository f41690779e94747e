//! Registry of the children that this process started. A child subreaper also has children that it adopted; only a
//! complete registry can tell them apart, so every child is started through [`spawn`].

use std::collections::HashMap;
use std::io;
use std::process::{Child, Command};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use nix::unistd::getpid;

use crate::proc::{self, ProcessIdentity, ProcessStat};

/// Environment variable with the session id, set for all programs that run in a session. Informational only: a program
/// can change the variable, so it is not used for access checks.
pub const SESSION_VARIABLE: &str = "WH_SESSION";

/// Purpose of a child: a program, or the supervisor of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildRole {
    /// A program that runs without a supervisor.
    Program,
    /// A supervisor. All its descendants belong to one session, or to none if it runs on behalf of wh itself.
    Supervisor {
        /// Session id, if any.
        session: Option<String>,
    },
}

/// Registered children by process id. Locked across fork and registration, so that no child of this process is
/// visible before it is registered.
static REGISTRY: LazyLock<Mutex<HashMap<ProcessIdentity, ChildRole>>> = LazyLock::new(Mutex::default);

fn registry() -> MutexGuard<'static, HashMap<ProcessIdentity, ChildRole>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registration of one child. The owner must keep it until the child has been reaped.
#[derive(Debug)]
pub struct ChildRegistration(ProcessIdentity);

impl ChildRegistration {
    /// Returns the id of the child.
    pub fn id(&self) -> ProcessIdentity {
        self.0
    }
}

impl Drop for ChildRegistration {
    fn drop(&mut self) {
        registry().remove(&self.0);
    }
}

/// Starts a child and registers it before other threads can see the child.
pub fn spawn(command: &mut Command, role: ChildRole) -> io::Result<(Child, ChildRegistration)> {
    let mut registry = registry();
    #[expect(clippy::disallowed_methods, reason = "the only place that registers children")]
    let mut child = command.spawn()?;
    // The child has not been reaped, so it exists. But there may be no free descriptor to read `/proc` with.
    let id = match ProcessIdentity::of(child.id().cast_signed()) {
        Ok(id) => id,
        Err(error) => {
            // An unregistered child would later be killed as an orphan.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    registry.insert(id, role);
    Ok((child, ChildRegistration(id)))
}

/// Returns the supervisors that this process started and has not reaped, with their sessions.
pub fn supervisors() -> HashMap<ProcessIdentity, Option<String>> {
    let of_supervisor = |(id, role): (&ProcessIdentity, &ChildRole)| match role {
        ChildRole::Supervisor { session } => Some((*id, session.clone())),
        ChildRole::Program => None,
    };
    registry().iter().filter_map(of_supervisor).collect()
}

/// Returns the orphans that this process adopted as a child subreaper: children that it did not start. Includes
/// zombies.
pub fn adopted() -> io::Result<Vec<ProcessIdentity>> {
    Ok(survey()?.1)
}

/// Returns every process of the machine, and the [adopted] processes among them.
pub(crate) fn survey() -> io::Result<(HashMap<i32, ProcessStat>, Vec<ProcessIdentity>)> {
    let registry = registry();
    let processes = proc::snapshot()?;
    let own = getpid().as_raw();
    let children = processes.iter().filter(|(_, stat)| stat.parent == own);
    let children = children.map(|(pid, stat)| ProcessIdentity { pid: *pid, started: stat.started });
    let adopted = children.filter(|id| !registry.contains_key(id)).collect();
    Ok((processes, adopted))
}

/// Registers the existing children of this process permanently. If another program replaced itself with this program by
/// `exec`, the children of that program are now children of this process, but not orphans.
pub(crate) fn register_inherited() -> io::Result<()> {
    let mut registry = registry();
    let own = getpid().as_raw();
    let children = proc::snapshot()?.into_iter().filter(|(_, stat)| stat.parent == own);
    for (pid, stat) in children {
        registry.entry(ProcessIdentity { pid, started: stat.started }).or_insert(ChildRole::Program);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::sys::wait::{WaitPidFlag, waitpid};

    use super::*;

    /// Environment variable that enables [`without_descriptors`].
    const INSIDE: &str = "WH_TEST_SPAWN_WITHOUT_DESCRIPTORS";

    /// Runs in a child process of the test below, since the descriptor limit applies to a whole process.
    #[test]
    fn without_descriptors() {
        if std::env::var_os(INSIDE).is_none() {
            return;
        }
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 0, hard).unwrap();
        let spawned = spawn(Command::new("/bin/sleep").arg("60"), ChildRole::Program);
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
        assert_eq!(spawned.unwrap_err().raw_os_error(), Some(nix::libc::EMFILE));
        assert_eq!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Err(Errno::ECHILD), "there is no child");
    }

    #[test]
    fn a_child_that_cannot_be_registered_is_ended() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "children::tests::without_descriptors", "--nocapture"]).env(INSIDE, "1");
        let output = alone.output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{}", text.concat());
    }

    #[test]
    fn a_registered_child_is_not_taken_for_an_adopted_one() {
        let role = ChildRole::Supervisor { session: Some("s1".to_owned()) };
        let (mut child, registration) = spawn(Command::new("sleep").arg("60"), role).unwrap();
        let id = registration.id();
        assert!(id.exists() && !adopted().unwrap().contains(&id));
        assert_eq!(supervisors().get(&id), Some(&Some("s1".to_owned())));
        drop(registration);
        assert!(adopted().unwrap().contains(&id) && !supervisors().contains_key(&id));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!id.exists());
    }
}
