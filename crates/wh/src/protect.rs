//! Protection of wh's own memory.

/// Makes this process undumpable. Other processes of the user, for example programs in the daemon's sessions, cannot
/// trace it and cannot read its memory, descriptors and environment through `/proc`. The daemon decides from data in
/// its memory which processes are inside a session.
pub fn memory() {
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        tracing::warn!(%error, "cannot protect the memory of wh from other processes of this user");
    }
}
