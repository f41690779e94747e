//! Finds, in a program's output, the sequences that the emulator does not know, and where they end; everything passes
//! on to the emulator in its place. Also keeps an endless string from filling memory.

use memchr::memchr;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A CSI sequence: everything between `ESC [` and the final byte, and that byte.
    Csi { parameters: Vec<u8>, last: u8 },
    /// An OSC string.
    Osc(Vec<u8>),
    /// A DCS string.
    Dcs(Vec<u8>),
}

/// A stretch of output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// How many bytes.
    pub length: usize,
    /// Whether the emulator gets them.
    pub pass: bool,
    /// What ended with the last of them.
    pub found: Option<Found>,
}

/// Longer strings than these are not answered to.
const KEPT: usize = 4096;
/// The emulator keeps a string until it ends: what goes beyond this many bytes does not reach it.
const LONGEST_STRING: usize = 1 << 20;
/// CSI sequences that matter here are short.
const LONGEST_CSI: usize = 64;

const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

#[derive(Debug, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    Csi,
    String(Kind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Osc,
    Dcs,
    /// SOS, PM, APC: nothing in them concerns us.
    Other,
}

/// Reads along with the emulator, chunk by chunk, however the chunks are cut.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    kept: Vec<u8>,
    length: usize,
}

impl Scanner {
    /// The next stretch of `bytes`, which must not be empty.
    pub fn advance(&mut self, bytes: &[u8]) -> Stretch {
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                State::Ground => match memchr(ESCAPE, &bytes[at..]) {
                    Some(offset) => {
                        at += offset + 1;
                        self.state = State::Escape;
                    }
                    None => at = bytes.len(),
                },
                State::Escape => match whole_csi(&bytes[at..]) {
                    Some((parameters, length)) => {
                        at += length;
                        self.state = State::Ground;
                        let last = bytes[at - 1];
                        if interesting(parameters, last) {
                            let found = Found::Csi { parameters: parameters.to_vec(), last };
                            return Stretch { length: at, pass: true, found: Some(found) };
                        }
                    }
                    None => {
                        self.escape(bytes[at]);
                        at += 1;
                    }
                },
                State::Csi => {
                    let byte = bytes[at];
                    at += 1;
                    if let Some(found) = self.csi(byte) {
                        return Stretch { length: at, pass: true, found: Some(found) };
                    }
                }
                State::String(kind) => match self.string(kind, bytes, at) {
                    Ok(next) => at = next,
                    Err(stretch) => return stretch,
                },
            }
        }
        Stretch { length: bytes.len(), pass: true, found: None }
    }

    fn escape(&mut self, byte: u8) {
        self.kept.clear();
        self.length = 0;
        self.state = match byte {
            b'[' => State::Csi,
            b']' => State::String(Kind::Osc),
            b'P' => State::String(Kind::Dcs),
            b'X' | b'^' | b'_' => State::String(Kind::Other),
            ESCAPE => State::Escape,
            // Intermediates of an escape sequence, and its end: none of them concern us.
            _ => State::Ground,
        };
    }

    fn csi(&mut self, byte: u8) -> Option<Found> {
        match byte {
            0x40..=0x7e => {
                self.state = State::Ground;
                let wanted = interesting(&self.kept, byte);
                return wanted.then(|| Found::Csi { parameters: std::mem::take(&mut self.kept), last: byte });
            }
            0x20..=0x3f if self.kept.len() < LONGEST_CSI => self.kept.push(byte),
            ESCAPE => self.state = State::Escape,
            CANCEL | SUBSTITUTE => self.state = State::Ground,
            _ => {}
        }
        None
    }

    /// Goes on from `at` to where the string ends, or stops there with what was found.
    fn string(&mut self, kind: Kind, bytes: &[u8], at: usize) -> Result<usize, Stretch> {
        let rest = &bytes[at..];
        let end = rest
            .iter()
            .position(|byte| matches!(*byte, ESCAPE | CANCEL | SUBSTITUTE) || (*byte == BELL && kind == Kind::Osc));
        let body = &rest[..end.unwrap_or(rest.len())];
        if self.length >= LONGEST_STRING && !body.is_empty() {
            // What came before in this chunk is passed on by the stretch that ends here.
            return Err(if at > 0 {
                Stretch { length: at, pass: true, found: None }
            } else {
                self.length += body.len();
                Stretch { length: body.len(), pass: false, found: None }
            });
        }
        let room = (KEPT + 1).saturating_sub(self.kept.len());
        self.kept.extend(&body[..body.len().min(room)]);
        self.length += body.len();
        let Some(end) = end else { return Ok(bytes.len()) };
        let last = rest[end];
        self.state = if last == ESCAPE { State::Escape } else { State::Ground };
        let complete = matches!(last, ESCAPE | BELL) && self.kept.len() <= KEPT;
        let kept = std::mem::take(&mut self.kept);
        let length = at + end + 1;
        match kind {
            Kind::Osc if complete => Err(Stretch { length, pass: true, found: Some(Found::Osc(kept)) }),
            Kind::Dcs if complete => Err(Stretch { length, pass: true, found: Some(Found::Dcs(kept)) }),
            _ => Ok(length),
        }
    }
}

/// A CSI sequence that stands at the beginning, without its ESC, and is whole and clean: its parameters, and its length. Most
/// are, and need not go byte by byte.
fn whole_csi(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let rest = bytes.strip_prefix(b"[")?;
    let end = rest.iter().position(|byte| !matches!(byte, 0x20..=0x3f))?;
    matches!(rest[end], 0x40..=0x7e).then(|| (&rest[..end.min(LONGEST_CSI)], end + 2))
}

/// How many of these bytes make whole characters. The rest is the beginning of one that the next chunk goes on with: the
/// emulator, given the halves apart, may lose the character that follows them.
pub(crate) fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let Some(last) = bytes[tail..].iter().rposition(|byte| *byte >= 0xc0).map(|offset| tail + offset) else {
        return bytes.len();
    };
    match std::str::from_utf8(&bytes[last..]) {
        Err(error) if error.error_len().is_none() => last,
        _ => bytes.len(),
    }
}

/// The few CSI sequences that the emulator leaves unanswered, or that end a frame.
fn interesting(parameters: &[u8], last: u8) -> bool {
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

    /// Everything found, and everything passed on, when the stream is cut at `cuts`.
    fn scan(bytes: &[u8], cuts: &[usize]) -> (Vec<Found>, Vec<u8>) {
        let (mut scanner, mut found, mut passed, mut start) = (Scanner::default(), Vec::new(), Vec::new(), 0);
        for end in cuts.iter().copied().chain([bytes.len()]) {
            let mut rest = &bytes[start.min(end)..end];
            start = start.max(end);
            while !rest.is_empty() {
                let stretch = scanner.advance(rest);
                assert!(stretch.length > 0, "a stretch makes progress");
                if stretch.pass {
                    passed.extend(&rest[..stretch.length]);
                }
                found.extend(stretch.found);
                rest = &rest[stretch.length..];
            }
        }
        (found, passed)
    }

    const STREAM: &[u8] = b"a\x1b[1;31mred\x1b[>0q\x1b]7;file:///tmp\x07b\x1b]133;A\x1b\\\x1bP+q544e\x1b\\\x1b[?2026hx\x1b[?2026l\x1b[16t";

    fn expected() -> Vec<Found> {
        let csi = |parameters: &[u8], last| Found::Csi { parameters: parameters.into(), last };
        vec![
            csi(b">0", b'q'),
            Found::Osc(b"7;file:///tmp".into()),
            Found::Osc(b"133;A".into()),
            Found::Dcs(b"+q544e".into()),
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
    fn only_the_beginning_of_a_character_is_not_whole() {
        for (bytes, whole) in [
            (&b""[..], 0),
            (b"abc", 3),
            ("é".as_bytes(), 2),
            (b"a\xc3", 1),
            (b"a\xe6\xbc", 1),
            (b"\xf0\x9f\x98", 0),
            // Not the beginning of anything: it is broken already.
            (b"a\xe6b", 3),
            (b"\xbc\xbc\xbc\xbc", 4),
            (b"\xff", 1),
        ] {
            assert_eq!(whole_characters(bytes), whole, "{bytes:x?}");
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
        assert!(passed.len() < LONGEST_STRING + 2 * 4096, "{} bytes passed", passed.len());
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
