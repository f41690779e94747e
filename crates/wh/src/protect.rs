//! Protection of wh's own memory.

/// Makes this process undumpable. Other processes of the user, including those in its sessions, can neither trace it
/// nor access its memory, descriptors and environment through `/proc`. The daemon relies on its memory to decide which
/// processes are inside a session.
pub fn memory() {
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        tracing::warn!(%error, "cannot protect the memory of wh from other processes of this user");
    }
}
