//! Scans program output for sequences that the emulator does not support. All output is passed on to the emulator in
//! order, except the part of a string beyond `MAX_STRING_BYTES`.

use memchr::memchr;

/// Sequence that the scanner reports, in most cases because the emulator does not support it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScannedSequence {
    /// A CSI sequence: the bytes between `ESC [` and the final byte, and that byte.
    Csi { parameters: Vec<u8>, last: u8 },
    /// Content of an OSC string.
    Osc(Vec<u8>),
    /// Content of a DCS string.
    Dcs(Vec<u8>),
}

/// Segment of the output, up to and including the next reported sequence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputSegment {
    /// Length in bytes.
    pub length: usize,
    /// True if these bytes are passed to the emulator.
    pub pass: bool,
    /// Reported sequence that ends with the last byte of the segment, if any.
    pub found: Option<ScannedSequence>,
}

/// Maximum length of a string to report. Longer strings are not reported.
const MAX_REPORTED_STRING_BYTES: usize = 4096;
/// Maximum bytes of a string that are passed to the emulator. The emulator buffers a string until the string ends.
const MAX_STRING_BYTES: usize = 1 << 20;
/// Maximum length of the parameters of a CSI sequence to report.
const MAX_CSI_BYTES: usize = 64;

const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

#[derive(Debug, Default)]
enum ScannerState {
    #[default]
    Ground,
    Escape,
    Csi,
    String(StringKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringKind {
    Osc,
    Dcs,
    /// SOS, PM or APC, which are not reported.
    Other,
}

/// Scans output in chunks, which may split sequences anywhere.
#[derive(Debug, Default)]
pub(crate) struct OutputScanner {
    state: ScannerState,
    buffer: Vec<u8>,
    length: usize,
}

impl OutputScanner {
    /// Returns the next segment of `bytes`, which must not be empty.
    pub fn advance(&mut self, bytes: &[u8]) -> OutputSegment {
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                ScannerState::Ground => match memchr(ESCAPE, &bytes[at..]) {
                    Some(offset) => {
                        at += offset + 1;
                        self.state = ScannerState::Escape;
                    }
                    None => at = bytes.len(),
                },
                ScannerState::Escape => match complete_csi(&bytes[at..]) {
                    Some((parameters, length)) => {
                        at += length;
                        self.state = ScannerState::Ground;
                        let last = bytes[at - 1];
                        if is_reported(parameters, last) {
                            let found = ScannedSequence::Csi { parameters: parameters.to_vec(), last };
                            return OutputSegment { length: at, pass: true, found: Some(found) };
                        }
                    }
                    None => {
                        self.escape(bytes[at]);
                        at += 1;
                    }
                },
                ScannerState::Csi => {
                    let byte = bytes[at];
                    at += 1;
                    if let Some(found) = self.csi(byte) {
                        return OutputSegment { length: at, pass: true, found: Some(found) };
                    }
                }
                ScannerState::String(kind) => match self.string(kind, bytes, at) {
                    Ok(next) => at = next,
                    Err(segment) => return segment,
                },
            }
        }
        OutputSegment { length: bytes.len(), pass: true, found: None }
    }

    fn escape(&mut self, byte: u8) {
        self.buffer.clear();
        self.length = 0;
        self.state = match byte {
            b'[' => ScannerState::Csi,
            b']' => ScannerState::String(StringKind::Osc),
            b'P' => ScannerState::String(StringKind::Dcs),
            b'X' | b'^' | b'_' => ScannerState::String(StringKind::Other),
            ESCAPE => ScannerState::Escape,
            // Intermediates and final bytes of other escape sequences, which are not reported.
            _ => ScannerState::Ground,
        };
    }

    fn csi(&mut self, byte: u8) -> Option<ScannedSequence> {
        match byte {
            0x40..=0x7e => {
                self.state = ScannerState::Ground;
                let wanted = is_reported(&self.buffer, byte);
                return wanted
                    .then(|| ScannedSequence::Csi { parameters: std::mem::take(&mut self.buffer), last: byte });
            }
            0x20..=0x3f if self.buffer.len() < MAX_CSI_BYTES => self.buffer.push(byte),
            ESCAPE => self.state = ScannerState::Escape,
            CANCEL | SUBSTITUTE => self.state = ScannerState::Ground,
            _ => {}
        }
        None
    }

    /// Continues a string from `at`. Returns the offset after its end, or the segment that ends there.
    fn string(&mut self, kind: StringKind, bytes: &[u8], at: usize) -> Result<usize, OutputSegment> {
        let rest = &bytes[at..];
        let end = rest.iter().position(|byte| {
            matches!(*byte, ESCAPE | CANCEL | SUBSTITUTE) || (*byte == BELL && kind == StringKind::Osc)
        });
        let body = &rest[..end.unwrap_or(rest.len())];
        if self.length >= MAX_STRING_BYTES && !body.is_empty() {
            // The bytes of this chunk before `at` are passed on first, as a segment of their own.
            return Err(if at > 0 {
                OutputSegment { length: at, pass: true, found: None }
            } else {
                self.length += body.len();
                OutputSegment { length: body.len(), pass: false, found: None }
            });
        }
        let room = (MAX_REPORTED_STRING_BYTES + 1).saturating_sub(self.buffer.len());
        self.buffer.extend(&body[..body.len().min(room)]);
        self.length += body.len();
        let Some(end) = end else { return Ok(bytes.len()) };
        let last = rest[end];
        self.state = if last == ESCAPE { ScannerState::Escape } else { ScannerState::Ground };
        let complete = matches!(last, ESCAPE | BELL) && self.buffer.len() <= MAX_REPORTED_STRING_BYTES;
        let buffer = std::mem::take(&mut self.buffer);
        let length = at + end + 1;
        match kind {
            StringKind::Osc if complete => {
                Err(OutputSegment { length, pass: true, found: Some(ScannedSequence::Osc(buffer)) })
            }
            StringKind::Dcs if complete => {
                Err(OutputSegment { length, pass: true, found: Some(ScannedSequence::Dcs(buffer)) })
            }
            _ => Ok(length),
        }
    }
}

/// Fast path: returns the parameters and the length of a complete CSI sequence at the start of `bytes`, given without
/// its ESC. `None` if the sequence is incomplete or of another kind.
fn complete_csi(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let rest = bytes.strip_prefix(b"[")?;
    let end = rest.iter().position(|byte| !matches!(byte, 0x20..=0x3f))?;
    matches!(rest[end], 0x40..=0x7e).then(|| (&rest[..end.min(MAX_CSI_BYTES)], end + 2))
}

/// Returns the number of bytes that form complete characters. The remaining bytes begin a character that the next chunk
/// completes. If the emulator received the two parts separately, it could lose the character that follows.
pub(crate) fn complete_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let Some(last) = bytes[tail..].iter().rposition(|byte| *byte >= 0xc0).map(|offset| tail + offset) else {
        return bytes.len();
    };
    match std::str::from_utf8(&bytes[last..]) {
        Err(error) if error.error_len().is_none() => last,
        _ => bytes.len(),
    }
}

/// True for CSI sequences that the emulator does not support, or that begin or end a synchronized update.
fn is_reported(parameters: &[u8], last: u8) -> bool {
    match last {
        b'q' => parameters.first() == Some(&b'>'),
        b't' => parameters == b"16",
        b'm' => matches!(parameters.first(), Some(b'>' | b'?')),
        b'h' | b'l' => parameters.starts_with(b"?") && parameters.windows(4).any(|window| window == b"2026"),
        b'p' => parameters == b"!",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns everything found and passed on if the stream is split at `cuts`.
    fn scan(bytes: &[u8], cuts: &[usize]) -> (Vec<ScannedSequence>, Vec<u8>) {
        let (mut scanner, mut found, mut passed, mut start) = (OutputScanner::default(), Vec::new(), Vec::new(), 0);
        for end in cuts.iter().copied().chain([bytes.len()]) {
            let mut rest = &bytes[start.min(end)..end];
            start = start.max(end);
            while !rest.is_empty() {
                let segment = scanner.advance(rest);
                assert!(segment.length > 0, "a segment makes progress");
                if segment.pass {
                    passed.extend(&rest[..segment.length]);
                }
                found.extend(segment.found);
                rest = &rest[segment.length..];
            }
        }
        (found, passed)
    }

    const STREAM: &[u8] = b"a\x1b[1;31mred\x1b[>0q\x1b]7;file:///tmp\x07b\x1b]133;A\x1b\\\x1bP+q544e\x1b\\\x1b[?2026hx\x1b[?2026l\x1b[16t";

    fn expected() -> Vec<ScannedSequence> {
        let csi = |parameters: &[u8], last| ScannedSequence::Csi { parameters: parameters.into(), last };
        vec![
            csi(b">0", b'q'),
            ScannedSequence::Osc(b"7;file:///tmp".into()),
            ScannedSequence::Osc(b"133;A".into()),
            ScannedSequence::Dcs(b"+q544e".into()),
            csi(b"?2026", b'h'),
            csi(b"?2026", b'l'),
            csi(b"16", b't'),
        ]
    }

    #[test]
    fn it_finds_the_same_however_the_stream_is_cut() {
        for cut in 0..STREAM.len() {
            assert_eq!(scan(STREAM, &[cut]), (expected(), STREAM.to_vec()), "cut at {cut}");
        }
    }

    #[test]
    fn only_the_beginning_of_a_character_is_incomplete() {
        for (bytes, whole) in [
            (&b""[..], 0),
            (b"abc", 3),
            ("é".as_bytes(), 2),
            (b"a\xc3", 1),
            (b"a\xe6\xbc", 1),
            (b"\xf0\x9f\x98", 0),
            // An invalid sequence, not an incomplete one.
            (b"a\xe6b", 3),
            (b"\xbc\xbc\xbc\xbc", 4),
            (b"\xff", 1),
        ] {
            assert_eq!(complete_characters(bytes), whole, "{bytes:x?}");
        }
    }

    #[test]
    fn a_cancelled_string_is_not_found() {
        assert_eq!(scan(b"\x1b]7;x\x18\x1bP+q\x1a", &[]).0, []);
    }

    #[test]
    fn an_endless_string_does_not_reach_the_emulator_beyond_its_limit() {
        let mut stream = b"\x1b]52;c;".to_vec();
        stream.resize(4 << 20, b'A');
        stream.extend(b"\x07after");
        let cuts: Vec<usize> = (0..stream.len()).step_by(4096).collect();
        let (found, passed) = scan(&stream, &cuts);
        assert_eq!(found, []);
        assert!(passed.len() < MAX_STRING_BYTES + 2 * 4096, "{} bytes passed", passed.len());
        assert!(passed.ends_with(b"\x07after"));
    }

    proptest! {
        #[test]
        fn any_bytes_pass_unchanged(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..400) {
            let cut = cut.min(bytes.len());
            let (found, passed) = scan(&bytes, &[cut]);
            prop_assert_eq!(&passed, &bytes);
            prop_assert_eq!(found, scan(&bytes, &[]).0);
        }
    }
}
