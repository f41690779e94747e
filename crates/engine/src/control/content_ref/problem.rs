//! Why a text behind a reference is not taken.

use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::stat::SFlag;
use wh_core::reason::Reason;

/// Why not. As text it is the detail of a `rejected`. It tells nothing about files outside of the folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceProblem {
    /// The path is relative.
    #[error("content_ref.path must be absolute")]
    NotAbsolute,
    /// The path goes upwards.
    #[error("content_ref.path must not contain \"..\"")]
    Upwards,
    /// The path is outside of the team's folder.
    #[error("content_ref.path must be a file under {}", .0.display())]
    Outside(PathBuf),
    /// There is nothing.
    #[error("content_ref: there is no such file")]
    Missing,
    /// A link is in the way.
    #[error("content_ref: {:?} is a symbolic link, and none is followed", .0.display().to_string())]
    Link(PathBuf),
    /// The file has other names.
    #[error("content_ref: the file has more than one hard link; send a copy of it")]
    HardLink,
    /// The media type is none that is taken.
    #[error(
        "content_ref.mime must be text/plain, text/markdown or application/json, with charset=utf-8 or none, and not {0:?}"
    )]
    Mime(String),
    /// Something in the way is no folder.
    #[error("content_ref: {:?} is no folder", .0.display().to_string())]
    NoFolder(PathBuf),
    /// It is something else than a file.
    #[error("content_ref: it is {0}, not a file")]
    NoFile(&'static str),
    /// It is another user's.
    #[error("content_ref: the file belongs to another user")]
    Foreign,
    /// It is of another size.
    #[error("content_ref: size_bytes says {said}, the file has {actual} bytes or more")]
    Size {
        /// What the reference says.
        said: u64,
        /// What there is.
        actual: u64,
    },
    /// It is too long.
    #[error("content_ref: size_bytes says {bytes}; at most {allowed} are taken")]
    TooLong {
        /// How long.
        bytes: u64,
        /// How long it might be.
        allowed: u64,
    },
    /// It has another digest.
    #[error("content_ref: the file's SHA-256 is another than sha256 says")]
    Digest,
    /// It is no text.
    #[error("content_ref: the file is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    /// There is nothing but white space in it.
    #[error("content_ref: the text is blank")]
    Blank,
    /// It may not be used any more.
    #[error("content_ref: expired at {0}")]
    Expired(String),
    /// When it expires cannot be read.
    #[error("content_ref.expires_at must be a time as of RFC 3339, and not {0:?}")]
    NoTime(String),
    /// It cannot be read.
    #[error("content_ref: the file cannot be read: {0}")]
    Unreadable(String),
}

impl ReferenceProblem {
    pub(super) fn unreadable(error: Errno) -> Self {
        Self::Unreadable(error.desc().to_lowercase())
    }

    /// In a word for programs.
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

/// What people call such a thing.
pub(super) fn called(kind: SFlag) -> &'static str {
    match kind {
        SFlag::S_IFDIR => "a folder",
        SFlag::S_IFIFO => "a pipe",
        SFlag::S_IFCHR | SFlag::S_IFBLK => "a device",
        SFlag::S_IFSOCK => "a socket",
        _ => "something else",
    }
}
