//! What a member proves with who they are.

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

/// Random bytes of a token.
const BYTES: usize = 32;

/// A secret of a member. It is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Token {
    /// A new one, from the system's own randomness.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// As it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The token in a file, which must be ours alone. One that could be guessed is refused.
pub(super) fn read(path: &Path) -> io::Result<Token> {
    let text = private::read(path, true, 1024)?;
    let token = text.trim();
    match URL_SAFE_NO_PAD.decode(token) {
        Ok(bytes) if bytes.len() >= BYTES => Ok(Token(token.to_owned())),
        _ => Err(super::named(path, "it holds no token of 32 bytes in base64url; remove it, and add the member again")),
    }
}

/// A token's digest: what is kept, and compared without telling by the time it takes how much of it is right.
#[derive(Clone)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(token: &str) -> Self {
        Self(<Sha256 as sha2::Digest>::digest(token.as_bytes()).into())
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Digest(…)")
    }
}

/// Members whose token is that of another member too: it proves nothing.
pub(super) fn copied(credentials: &[(MemberId, Digest)]) -> Vec<MemberId> {
    let is_copied = |(number, (_, digest)): (usize, &(MemberId, Digest))| {
        credentials.iter().enumerate().any(|(other, (_, theirs))| other != number && theirs.same(digest))
    };
    let all = credentials.iter().enumerate();
    all.filter(|entry| is_copied(*entry)).map(|(_, (member, _))| member.clone()).collect()
}
