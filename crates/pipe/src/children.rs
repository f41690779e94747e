//! Registry of the children that this process started itself. A child subreaper also gets children that it never started: what
//! outlives its supervisor. Only a complete registry can tell them apart, so every child is started through [`spawn`].

use std::collections::HashMap;
use std::io;
use std::process::{Child, Command};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use nix::unistd::getpid;

use crate::proc::{self, ProcessId, Stat};

/// Names the session in the environment of everything that runs in it. For programs to read; never evidence of anything.
pub const SESSION_VARIABLE: &str = "WH_SESSION";

/// Purpose of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// A program that runs without a supervisor.
    Program,
    /// A supervisor: everything below it belongs to one session, or to none if it runs on behalf of wh itself.
    Supervisor {
        /// Id of the session.
        session: Option<String>,
    },
}

/// Held across fork and registration, so that nobody can see a child of ours before it is registered.
static REGISTRY: LazyLock<Mutex<HashMap<ProcessId, Role>>> = LazyLock::new(Mutex::default);

fn registry() -> MutexGuard<'static, HashMap<ProcessId, Role>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Entry of one child in the registry. Keep it until the child has been waited for.
#[derive(Debug)]
pub struct Registration(ProcessId);

impl Registration {
    /// The child.
    pub fn id(&self) -> ProcessId {
        self.0
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        registry().remove(&self.0);
    }
}

/// Starts a child and registers it in one step.
pub fn spawn(command: &mut Command, role: Role) -> io::Result<(Child, Registration)> {
    let mut registry = registry();
    #[expect(clippy::disallowed_methods, reason = "this is the one place that registers")]
    let mut child = command.spawn()?;
    // The child cannot be gone: nobody has waited for it. But there may be no descriptor to look at it with.
    let id = match ProcessId::of(child.id().cast_signed()) {
        Ok(id) => id,
        Err(error) => {
            // Nobody would know of it.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    registry.insert(id, role);
    Ok((child, Registration(id)))
}

/// The supervisors that this process started and has not waited for, with their sessions.
pub fn supervisors() -> HashMap<ProcessId, Option<String>> {
    let of_supervisor = |(id, role): (&ProcessId, &Role)| match role {
        Role::Supervisor { session } => Some((*id, session.clone())),
        Role::Program => None,
    };
    registry().iter().filter_map(of_supervisor).collect()
}

/// Children of this process that it did not start: orphans that it adopted as a child subreaper. Zombies are included.
pub fn adopted() -> io::Result<Vec<ProcessId>> {
    Ok(survey()?.1)
}

/// Every process of the machine, and those of them that are [adopted].
pub(crate) fn survey() -> io::Result<(HashMap<i32, Stat>, Vec<ProcessId>)> {
    let registry = registry();
    let processes = proc::snapshot()?;
    let own = getpid().as_raw();
    let children = processes.iter().filter(|(_, stat)| stat.parent == own);
    let children = children.map(|(pid, stat)| ProcessId { pid: *pid, started: stat.started });
    let adopted = children.filter(|id| !registry.contains_key(id)).collect();
    Ok((processes, adopted))
}

/// Registers the children that this process has already, for good: those of a program that has replaced itself by this one are
/// nobody's orphans.
pub(crate) fn register_inherited() -> io::Result<()> {
    let mut registry = registry();
    let own = getpid().as_raw();
    let children = proc::snapshot()?.into_iter().filter(|(_, stat)| stat.parent == own);
    for (pid, stat) in children {
        registry.entry(ProcessId { pid, started: stat.started }).or_insert(Role::Program);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::sys::wait::{WaitPidFlag, waitpid};

    use super::*;

    /// Makes [`without_descriptors`] do its work.
    const INSIDE: &str = "WH_TEST_SPAWN_WITHOUT_DESCRIPTORS";

    /// Not a test by itself: run by the one below in a process of its own, because the limit is the whole process's.
    #[test]
    fn without_descriptors() {
        if std::env::var_os(INSIDE).is_none() {
            return;
        }
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 0, hard).unwrap();
        let spawned = spawn(Command::new("/bin/sleep").arg("60"), Role::Program);
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
        assert_eq!(spawned.unwrap_err().raw_os_error(), Some(nix::libc::EMFILE));
        assert_eq!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Err(Errno::ECHILD), "there is no child");
    }

    #[test]
    fn a_child_that_cannot_be_registered_is_ended() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "children::tests::without_descriptors", "--nocapture"]).env(INSIDE, "1");
        let output = alone.output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{}", said.concat());
    }

    #[test]
    fn a_registered_child_is_not_taken_for_an_adopted_one() {
        let role = Role::Supervisor { session: Some("s1".to_owned()) };
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
