//! A terminal attached to a session over the daemon's socket. After the answer to `attach` the line is no longer JSON: both sides
//! send frames, each a byte that says what it is, its length as four bytes with the highest first, and so many bytes.

/// The longest frame that is taken.
pub const LONGEST_FRAME: usize = 4 << 20;

/// Bytes before a frame's own.
pub const HEADER: usize = 5;

/// What the person's side says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromPerson {
    /// These bytes were typed.
    Typed(Vec<u8>),
    /// The terminal has so many columns and rows.
    Resized(u16, u16),
    /// The person is back from their shell, which has left something else on the screen.
    Back,
}

/// What the daemon's side says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToPerson {
    /// Draw this.
    Draw(Vec<u8>),
    /// The person has left; the session goes on.
    Left,
    /// It is over, and why: a sentence.
    Over(String),
}

/// A frame that cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the other side does not send frames")]
pub struct BadFrame;

/// The kind and the length that a header tells of.
pub fn header(bytes: [u8; HEADER]) -> Result<(u8, usize), BadFrame> {
    let [kind, length @ ..] = bytes;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(|_| BadFrame)?;
    if length > LONGEST_FRAME { Err(BadFrame) } else { Ok((kind, length)) }
}

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[kind], length.as_slice(), body].concat()
}

impl FromPerson {
    /// As a frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Typed(bytes) => frame(b'i', bytes),
            Self::Resized(columns, rows) => frame(b'r', &[columns.to_be_bytes(), rows.to_be_bytes()].concat()),
            Self::Back => frame(b'b', &[]),
        }
    }

    /// Reads a frame's kind and bytes.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Self, BadFrame> {
        match (kind, body.as_slice()) {
            (b'i', _) => Ok(Self::Typed(body)),
            (b'r', [a, b, c, d]) => Ok(Self::Resized(u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]))),
            (b'b', []) => Ok(Self::Back),
            _ => Err(BadFrame),
        }
    }
}

impl ToPerson {
    /// As a frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Draw(bytes) => frame(b'd', bytes),
            Self::Left => frame(b'l', &[]),
            Self::Over(reason) => frame(b'o', reason.as_bytes()),
        }
    }

    /// Reads a frame's kind and bytes.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Self, BadFrame> {
        match kind {
            b'l' => Ok(Self::Left),
            b'd' => Ok(Self::Draw(body)),
            b'o' => String::from_utf8(body).map(Self::Over).map_err(|_| BadFrame),
            _ => Err(BadFrame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(frame: &[u8]) -> (u8, Vec<u8>) {
        let (kind, length) = header(frame[..HEADER].try_into().unwrap()).unwrap();
        assert_eq!(length, frame.len() - HEADER);
        (kind, frame[HEADER..].to_vec())
    }

    #[test]
    fn frames_come_back_as_they_went() {
        for one in [FromPerson::Typed(b"a\x1b[A".to_vec()), FromPerson::Resized(120, 40), FromPerson::Back] {
            let (kind, body) = split(&one.encode());
            assert_eq!(FromPerson::decode(kind, body), Ok(one));
        }
        for one in [ToPerson::Draw(vec![0, 255]), ToPerson::Left, ToPerson::Over("it has ended".to_owned())] {
            let (kind, body) = split(&one.encode());
            assert_eq!(ToPerson::decode(kind, body), Ok(one));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert_eq!(header([b'd', 255, 255, 255, 255]), Err(BadFrame));
        assert_eq!(FromPerson::decode(b'r', vec![1]), Err(BadFrame));
        assert_eq!(FromPerson::decode(b'?', vec![]), Err(BadFrame));
        assert_eq!(ToPerson::decode(b'o', vec![0xff]), Err(BadFrame));
        assert_eq!(ToPerson::decode(b'{', vec![]), Err(BadFrame));
    }
}
