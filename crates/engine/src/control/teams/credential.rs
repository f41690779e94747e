//! Tokens that authenticate the members of a team.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use wh_core::gate::MemberId;

use super::private;

/// Number of random bytes in a token.
const TOKEN_BYTES: usize = 32;

/// Secret token of a member. Its `Debug` output does not contain the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct MemberToken(String);

impl fmt::Debug for MemberToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MemberToken(…)")
    }
}

impl MemberToken {
    /// Generates a token from the system's random source.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the text of the token, as it is sent to the server.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads a token from a file that only the current user may use. A malformed or short token is refused.
pub(super) fn read(path: &Path) -> io::Result<MemberToken> {
    let text = private::read(path, true, 1024)?;
    let token = text.trim();
    match URL_SAFE_NO_PAD.decode(token) {
        Ok(bytes) if bytes.len() >= TOKEN_BYTES => Ok(MemberToken(token.to_owned())),
        _ => Err(super::named(path, "not a token of 32 bytes in base64url; remove the file, and add the member again")),
    }
}

/// Digest of a token. Only digests are kept in memory, and they are compared in constant time.
#[derive(Clone)]
pub(super) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        Self(<Sha256 as sha2::Digest>::digest(token.as_bytes()).into())
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Digest(…)")
    }
}

/// Returns the members that have the same token as another member. A shared token does not identify a member.
pub(super) fn copied(credentials: &[(MemberId, TokenDigest)]) -> Vec<MemberId> {
    let is_copied = |(number, (_, digest)): (usize, &(MemberId, TokenDigest))| {
        credentials.iter().enumerate().any(|(other, (_, theirs))| other != number && theirs.same(digest))
    };
    let all = credentials.iter().enumerate();
    all.filter(|entry| is_copied(*entry)).map(|(_, (member, _))| member.clone()).collect()
}
