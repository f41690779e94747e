//! Reasons for refusing a content reference.

use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::stat::SFlag;
use wh_core::reason::Reason;

/// Reason for refusing a content reference. Its text is sent to the sender, and reveals nothing about files outside of
/// the shared folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceProblem {
    #[error("content_ref.path must be absolute")]
    NotAbsolute,
    /// The path contains `..`.
    #[error("content_ref.path must not contain \"..\"")]
    Upwards,
    /// The path is outside of the team's folder.
    #[error("content_ref.path must be a file under {}", .0.display())]
    Outside(PathBuf),
    /// The file does not exist.
    #[error("content_ref: no such file")]
    Missing,
    /// The path contains a symbolic link.
    #[error("content_ref: {:?} is a symbolic link; links are not followed", .0.display().to_string())]
    Link(PathBuf),
    /// The file has more than one hard link.
    #[error("content_ref: the file has more than one hard link; send a copy of it")]
    HardLink,
    /// The media type is not accepted.
    #[error(
        "content_ref.mime is {0:?}; use text/plain, text/markdown or application/json, with charset=utf-8 or no charset"
    )]
    Mime(String),
    /// A parent of the file is not a folder.
    #[error("content_ref: {:?} is not a folder", .0.display().to_string())]
    NoFolder(PathBuf),
    /// The path is not a regular file.
    #[error("content_ref: the path is {0}, not a regular file")]
    NoFile(&'static str),
    /// The file belongs to another user.
    #[error("content_ref: the file belongs to another user")]
    Foreign,
    /// The size of the file differs from `size_bytes` of the reference.
    #[error("content_ref: size_bytes is {stated}, but the file has {actual} bytes")]
    Size {
        /// Size in the reference.
        stated: u64,
        /// Size of the file.
        actual: u64,
    },
    /// The text is longer than allowed.
    #[error("content_ref: size_bytes is {bytes}; the limit is {allowed}")]
    TooLong {
        /// Size of the text in bytes.
        bytes: u64,
        /// Maximum size in bytes.
        allowed: u64,
    },
    /// The digest of the file differs from `sha256` of the reference.
    #[error("content_ref: the file's SHA-256 digest differs from sha256")]
    Digest,
    #[error("content_ref: the file is not valid UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// The text is empty or only white space.
    #[error("content_ref: the text is blank")]
    Blank,
    #[error("content_ref: the reference expired at {0}")]
    Expired(String),
    /// The expiry time cannot be parsed.
    #[error("content_ref.expires_at must be an RFC 3339 time, not {0:?}")]
    NoTime(String),
    #[error("content_ref: cannot read the file: {0}")]
    Unreadable(String),
}

impl ReferenceProblem {
    pub(super) fn unreadable(error: Errno) -> Self {
        Self::Unreadable(error.desc().to_lowercase())
    }

    /// Returns the machine-readable code of the problem.
    pub fn reason(&self) -> Reason {
        match self {
            Self::NotAbsolute | Self::Upwards | Self::Outside(_) | Self::Link(_) | Self::HardLink => Reason::RefOutside,
            Self::Mime(_) => Reason::RefMime,
            Self::Missing | Self::NoFolder(_) => Reason::RefMissing,
            Self::NoFile(_) | Self::Foreign | Self::Unreadable(_) => Reason::RefUnreadable,
            Self::Size { .. } | Self::TooLong { .. } => Reason::RefSize,
            Self::Digest => Reason::RefDigest,
            Self::NotUtf8(_) => Reason::RefNotUtf8,
            Self::Blank => Reason::Empty,
            Self::Expired(_) | Self::NoTime(_) => Reason::RefExpired,
        }
    }
}

/// Returns the name of a file type, for error messages.
pub(super) fn kind_name(kind: SFlag) -> &'static str {
    match kind {
        SFlag::S_IFDIR => "a folder",
        SFlag::S_IFIFO => "a pipe",
        SFlag::S_IFCHR | SFlag::S_IFBLK => "a device",
        SFlag::S_IFSOCK => "a socket",
        _ => "of an unknown file type",
    }
}
