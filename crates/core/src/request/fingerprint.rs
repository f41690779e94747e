//! Fingerprints of commands. A retry has the fingerprint of the first request; a different command under the same
//! request id has another fingerprint.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::RequestId;
use crate::input::{Gesture, KeyCode, KeyPress, Modifiers, MouseAction, MouseButton};
use crate::terminal::{SignalTarget, Size};

/// SHA-256 digest of a text. A reference to a file contains the digest, so that two referenced texts are compared
/// without reading the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextDigest([u8; 32]);

impl TextDigest {
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Parses a digest of 64 hexadecimal digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// Approval or rejection of a question without naming an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Decision {
    Approve,
    Reject,
}

impl Decision {
    /// Returns the name of the decision in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
        }
    }
}

/// Content of a command, which is equal in every retry. Commands with the same effect have the same content, whether
/// they arrive over HTTP or over the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandContent<'a> {
    /// Text for an agent, or lines for a terminal program.
    Text {
        digest: TextDigest,
        /// True if the running turn is interrupted before the text is delivered.
        interrupt: bool,
        /// Named recipients; `None` for the default targets.
        to: Option<&'a [String]>,
    },
    /// Interrupts the participant with this name; with `None`, every working agent or the terminal program.
    Interrupt(Option<&'a str>),
    Answer {
        question: &'a str,
        /// Id of the chosen option.
        option: Option<&'a str>,
        /// Approval or rejection instead of an option.
        decision: Option<Decision>,
        /// Free text of the answer.
        text: Option<&'a str>,
    },
    /// Slash command, written as a user would type it.
    Line(&'a str),
    /// Types keys and mouse events into a terminal.
    Keys(&'a [Gesture]),
    /// Sets a new terminal size.
    Resize(Size),
    Signal(u8, SignalTarget),
    /// Sets a marker with this label in the recording.
    Mark(&'a str),
}

impl<'a> CommandContent<'a> {
    /// Returns the content of a text for the default targets.
    pub fn text(text: &str) -> Self {
        Self::Text { digest: TextDigest::of(text), interrupt: false, to: None }
    }

    /// Returns the content of terminal input. Input that consists only of text and Enter has the content of a text
    /// message with the same lines.
    pub fn typed(gestures: &'a [Gesture]) -> Self {
        let mut text = String::new();
        for gesture in gestures {
            match gesture {
                // A line break inside a text is not the same as Enter, because it types a different byte.
                Gesture::Text(typed) if !typed.contains(['\n', '\r']) => text.push_str(typed),
                Gesture::Key(KeyPress { key: KeyCode::Enter, modifiers: Modifiers::NONE }) => text.push('\n'),
                _ => return Self::Keys(gestures),
            }
        }
        Self::text(&text)
    }
}

/// Digest of the sender and the content of a command. The digest of a command is the same after a restart, in every
/// version of `wh`, and for every retry.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint(String);

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({})", self.0)
    }
}

impl Fingerprint {
    /// Computes the fingerprint of a command with this sender and content.
    pub fn of(sender: &str, content: &CommandContent<'_>) -> Self {
        let mut parts = FingerprintHasher(Sha256::new());
        parts.add(b"wheelhouse request 2").add(sender.as_bytes());
        match content {
            CommandContent::Text { digest, interrupt, to } => {
                parts.add(b"text").add(&[u8::from(*interrupt)]).add(&digest.0);
                parts.add(&[u8::from(to.is_some())]);
                for one in to.iter().flat_map(|to| to.iter()) {
                    parts.add(one.as_bytes());
                }
            }
            CommandContent::Interrupt(of) => {
                parts.add(b"interrupt").add_optional(*of);
            }
            CommandContent::Answer { question, option, decision, text } => {
                parts.add(b"answer").add(question.as_bytes()).add_optional(*option);
                parts.add_optional(decision.map(Decision::as_str)).add_optional(*text);
            }
            CommandContent::Line(line) => {
                parts.add(b"line").add(line.as_bytes());
            }
            CommandContent::Keys(gestures) => {
                parts.add(b"keys");
                gestures.iter().for_each(|gesture| parts.add_gesture(gesture));
            }
            CommandContent::Resize(size) => {
                parts.add(b"resize").add(&size.columns.to_be_bytes()).add(&size.rows.to_be_bytes());
            }
            CommandContent::Signal(number, target) => {
                let target: &[u8] = match target {
                    SignalTarget::Program => b"program",
                    SignalTarget::Foreground => b"foreground",
                };
                parts.add(b"signal").add(&[*number]).add(target);
            }
            CommandContent::Mark(label) => {
                parts.add(b"mark").add(label.as_bytes());
            }
        }
        Self(hex(&parts.0.finalize()))
    }

    /// Creates a fingerprint from its stored text.
    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Request id of a command, with the fingerprint of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FingerprintedId {
    pub id: RequestId,
    pub fingerprint: Fingerprint,
}

impl FingerprintedId {
    /// Adds the fingerprint of this sender and content to a request id.
    pub fn new(id: RequestId, sender: &str, content: &CommandContent<'_>) -> Self {
        Self { id, fingerprint: Fingerprint::of(sender, content) }
    }
}

struct FingerprintHasher(Sha256);

impl FingerprintHasher {
    /// Adds one part to the digest. A length prefix separates adjacent parts.
    fn add(&mut self, part: &[u8]) -> &mut Self {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
        self
    }

    fn add_optional(&mut self, part: Option<&str>) -> &mut Self {
        self.add(&[u8::from(part.is_some())]).add(part.unwrap_or_default().as_bytes())
    }

    fn add_gesture(&mut self, gesture: &Gesture) {
        match gesture {
            Gesture::Text(text) => self.add(b"t").add(text.as_bytes()),
            Gesture::Key(press) => self.add(b"k").add(press.to_string().as_bytes()),
            Gesture::Paste(text) => self.add(b"p").add(text.as_bytes()),
            Gesture::Mouse(mouse) => {
                let Modifiers { ctrl, alt, shift } = mouse.modifiers;
                self.add(b"m").add(&[action_code(mouse.action), button_code(mouse.button)]);
                self.add(&mouse.x.to_be_bytes()).add(&mouse.y.to_be_bytes());
                self.add(&[u8::from(ctrl), u8::from(alt), u8::from(shift)])
            }
        };
    }
}

/// Returns the code of a mouse action in the digest. Never change a code: the digests are stored.
fn action_code(action: MouseAction) -> u8 {
    match action {
        MouseAction::Press => 0,
        MouseAction::Release => 1,
        MouseAction::Move => 2,
        MouseAction::WheelUp => 3,
        MouseAction::WheelDown => 4,
        MouseAction::WheelLeft => 5,
        MouseAction::WheelRight => 6,
    }
}

fn button_code(button: MouseButton) -> u8 {
    match button {
        MouseButton::None => 0,
        MouseButton::Left => 1,
        MouseButton::Middle => 2,
        MouseButton::Right => 3,
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &[&str]) -> Vec<Gesture> {
        names.iter().map(|name| Gesture::Key(name.parse().unwrap())).collect()
    }

    #[test]
    fn each_content_has_its_own_fingerprint_and_each_sender_too() {
        let (abc, up) = (CommandContent::text("abc"), keys(&["up"]));
        let to = ["demo".to_owned()];
        let answer = |option, text| CommandContent::Answer { question: "q1", option, decision: None, text };
        let contents = [
            abc.clone(),
            CommandContent::text("abd"),
            CommandContent::Text { digest: TextDigest::of("abc"), interrupt: true, to: None },
            CommandContent::Text { digest: TextDigest::of("abc"), interrupt: false, to: Some(&to) },
            CommandContent::Text { digest: TextDigest::of("abc"), interrupt: false, to: Some(&[]) },
            CommandContent::Interrupt(None),
            CommandContent::Interrupt(Some("demo")),
            answer(Some("yes"), None),
            answer(None, Some("yes")),
            CommandContent::Answer { question: "q1", option: None, decision: Some(Decision::Approve), text: None },
            CommandContent::Line("/help"),
            CommandContent::Mark("/help"),
            CommandContent::Keys(&up),
            CommandContent::Keys(&[]),
            CommandContent::Resize(Size::nearest(80, 24)),
            CommandContent::Signal(2, SignalTarget::Program),
            CommandContent::Signal(2, SignalTarget::Foreground),
        ];
        let all: std::collections::HashSet<Fingerprint> =
            contents.iter().flat_map(|content| ["ann", "bob"].map(|sender| Fingerprint::of(sender, content))).collect();
        assert_eq!(all.len(), contents.len() * 2);
        assert_eq!(Fingerprint::of("ann", &abc), Fingerprint::of("ann", &CommandContent::text("abc")));
    }

    #[test]
    fn typed_lines_are_the_text_that_a_control_message_sends() {
        let mut typed = vec![Gesture::Text("ls -l".to_owned())];
        typed.extend(keys(&["enter"]));
        assert_eq!(CommandContent::typed(&typed), CommandContent::text("ls -l\n"));
        let line_break = [Gesture::Text("ls -l\n".to_owned())];
        assert_eq!(CommandContent::typed(&line_break), CommandContent::Keys(&line_break));
        typed.extend(keys(&["tab"]));
        assert_eq!(CommandContent::typed(&typed), CommandContent::Keys(&typed));
    }

    #[test]
    fn a_text_behind_a_reference_has_the_fingerprint_of_the_text() {
        let digits = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD";
        assert_eq!(TextDigest::from_hex(digits), Some(TextDigest::of("abc")));
        for wrong in ["", "ba", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(TextDigest::from_hex(wrong), None, "{wrong:?}");
        }
    }

    /// Stored fingerprints must be found by later versions.
    #[test]
    fn a_fingerprint_does_not_change_between_versions() {
        let text = Fingerprint::of("owner", &CommandContent::text("hello"));
        assert_eq!(text.as_str(), "a5af402db607a45ec73626ab9a73791a67f1fd4849cd2cf10d3ba5ec985f7265");
    }
}
