//! Exit status of a program, shared by all crates.

/// Exit status of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The program exited by itself with this code.
    Code(i32),
    /// The program was killed by the signal with this number.
    Signal(i32),
    /// The exit status is unknown: the supervisor was killed, or another process collected the status.
    Unknown,
}

impl Exit {
    /// Returns the exit code as a shell reports it: 128+n for signal n, and 125 if the exit status is unknown.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
            Self::Unknown => 125,
        }
    }

    /// Returns the number of the signal that killed the program; `None` if the program exited by itself or the exit
    /// status is unknown.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Signal(signal) => Some(signal),
            Self::Code(_) | Self::Unknown => None,
        }
    }

    /// Returns true if the program exited by itself with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}
