//! Protection of wh's own memory.

/// Makes this process undumpable: other processes of the user, those in its sessions among them, can neither trace it nor reach its
/// memory, descriptors and environment through `/proc`. Its memory decides who counts as inside a session.
pub fn memory() {
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        tracing::warn!(%error, "the memory of wh is open to other processes of this user");
    }
}
