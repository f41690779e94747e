//! Frames of a terminal attached to a session over the daemon's socket. After the response to `attach`, both sides stop
//! sending JSON lines and send frames: a kind byte, the body length as a big-endian `u32`, and the body.

/// Maximum length of a frame's body in bytes. Longer frames are rejected.
pub const MAX_ATTACH_FRAME_BYTES: usize = 4 << 20;

/// Length of the frame header in bytes: the kind and the body length.
pub const ATTACH_HEADER_BYTES: usize = 5;

/// Frame sent by the attached terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachInput {
    /// Bytes typed by the user.
    Typed(Vec<u8>),
    /// New terminal size in columns and rows.
    Resized(u16, u16),
    /// Requests a full redraw because the user returned from their shell, which overwrote the screen.
    Redraw,
}

/// Frame sent by the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachOutput {
    /// Bytes to write to the terminal.
    Output(Vec<u8>),
    /// The user detached. The session keeps running.
    Detached,
    /// The attachment ended, for example because the session ended. Contains a message with the reason.
    Ended(String),
}

/// Error for bytes that are not a valid attach frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("received bytes that are not a valid attach frame")]
pub struct InvalidAttachFrame;

/// Decodes a header into the frame kind and the body length.
pub fn decode_header(bytes: [u8; ATTACH_HEADER_BYTES]) -> Result<(u8, usize), InvalidAttachFrame> {
    let [kind, length @ ..] = bytes;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(|_| InvalidAttachFrame)?;
    if length > MAX_ATTACH_FRAME_BYTES { Err(InvalidAttachFrame) } else { Ok((kind, length)) }
}

fn encode_frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[kind], length.as_slice(), body].concat()
}

impl AttachInput {
    /// Encodes the frame with its header.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Typed(bytes) => encode_frame(b'i', bytes),
            Self::Resized(columns, rows) => encode_frame(b'r', &[columns.to_be_bytes(), rows.to_be_bytes()].concat()),
            Self::Redraw => encode_frame(b'b', &[]),
        }
    }

    /// Decodes a frame from its kind and body.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Self, InvalidAttachFrame> {
        match (kind, body.as_slice()) {
            (b'i', _) => Ok(Self::Typed(body)),
            (b'r', [a, b, c, d]) => Ok(Self::Resized(u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]))),
            (b'b', []) => Ok(Self::Redraw),
            _ => Err(InvalidAttachFrame),
        }
    }
}

impl AttachOutput {
    /// Encodes the frame with its header.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Output(bytes) => encode_frame(b'd', bytes),
            Self::Detached => encode_frame(b'l', &[]),
            Self::Ended(reason) => encode_frame(b'o', reason.as_bytes()),
        }
    }

    /// Decodes a frame from its kind and body.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Self, InvalidAttachFrame> {
        match kind {
            b'l' => Ok(Self::Detached),
            b'd' => Ok(Self::Output(body)),
            b'o' => String::from_utf8(body).map(Self::Ended).map_err(|_| InvalidAttachFrame),
            _ => Err(InvalidAttachFrame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(frame: &[u8]) -> (u8, Vec<u8>) {
        let (kind, length) = decode_header(frame[..ATTACH_HEADER_BYTES].try_into().unwrap()).unwrap();
        assert_eq!(length, frame.len() - ATTACH_HEADER_BYTES);
        (kind, frame[ATTACH_HEADER_BYTES..].to_vec())
    }

    #[test]
    fn frames_survive_a_round_trip() {
        for one in [AttachInput::Typed(b"a\x1b[A".to_vec()), AttachInput::Resized(120, 40), AttachInput::Redraw] {
            let (kind, body) = split(&one.encode());
            assert_eq!(AttachInput::decode(kind, body), Ok(one));
        }
        for one in
            [AttachOutput::Output(vec![0, 255]), AttachOutput::Detached, AttachOutput::Ended("it has ended".to_owned())]
        {
            let (kind, body) = split(&one.encode());
            assert_eq!(AttachOutput::decode(kind, body), Ok(one));
        }
    }

    #[test]
    fn invalid_frames_are_rejected() {
        assert_eq!(decode_header([b'd', 255, 255, 255, 255]), Err(InvalidAttachFrame));
        assert_eq!(AttachInput::decode(b'r', vec![1]), Err(InvalidAttachFrame));
        assert_eq!(AttachInput::decode(b'?', vec![]), Err(InvalidAttachFrame));
        assert_eq!(AttachOutput::decode(b'o', vec![0xff]), Err(InvalidAttachFrame));
        assert_eq!(AttachOutput::decode(b'{', vec![]), Err(InvalidAttachFrame));
    }
}
