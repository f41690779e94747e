//! Tests of the transcript on a buffer: the appearance of items, and scrolling.

mod looks;
mod properties;
mod scrolling;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use wh_client::MirrorChange;
use wh_core::input::{Gesture, Modifiers, Mouse, MouseAction, MouseButton};
use wh_core::space::event::{ParticipantRole, SpaceEvent, TurnStats};
use wh_core::space::harness::TurnOutcome;
use wh_core::space::item::{Item, ItemBody, ItemProgress};
use wh_core::space::state::SpaceState;
use wh_core::space::{ItemId, ParticipantId, TurnId};

use super::*;

/// 2026-01-02 12:34:56 UTC.
const NOON: u64 = 1_767_357_296;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOON + seconds)
}

fn text(words: &str) -> ItemBody {
    ItemBody::Text { text: words.to_owned(), attachments: Vec::new() }
}

/// A space and its transcript at some size.
struct Bench {
    state: SpaceState,
    transcript: Transcript,
    me: ParticipantId,
    theme: Theme,
    size: (u16, u16),
    verbose: bool,
    streams: bool,
}

impl Bench {
    fn new(width: u16, height: u16) -> Self {
        let me = ParticipantId::from("human");
        let mut state = SpaceState::new("space", me.clone());
        state.apply(&SpaceEvent::Joined(me.clone(), ParticipantRole::Human), at(0));
        state.apply(&SpaceEvent::Joined(ParticipantId::from("demo"), ParticipantRole::Agent), at(0));
        let transcript = Transcript::in_zone(TimeZone::UTC);
        Self { state, transcript, me, theme: Theme::dark(), size: (width, height), verbose: false, streams: false }
    }

    /// Adds an item with the id `i` and a number.
    fn put(&mut self, from: &str, number: usize, body: ItemBody, progress: ItemProgress) {
        self.put_to(from, None, number, body, progress);
    }

    fn put_to(&mut self, from: &str, to: Option<&str>, number: usize, body: ItemBody, progress: ItemProgress) {
        self.state.put(Arc::new(Item {
            id: ItemId::from(format!("i{number}")),
            from: ParticipantId::from(from),
            to: to.map(|to| vec![ParticipantId::from(to)]),
            turn: Some(TurnId::from("turn-1")),
            at: at(number as u64),
            body,
            progress,
            extent: None,
            listed: Vec::new(),
            starts: Vec::new(),
        }));
    }

    fn say(&mut self, from: &str, words: &str) {
        let number = self.state.items.len();
        self.put(from, number, text(words), ItemProgress::Done);
    }

    /// Adds messages of one line each.
    fn chat(&mut self, count: usize) {
        for number in self.state.items.len()..self.state.items.len() + count {
            self.say("demo", &format!("message {number}"));
        }
    }

    fn buffer(&mut self) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        let look = TranscriptView {
            theme: &self.theme,
            verbose: self.verbose,
            show_streams: self.streams,
            now: at(60),
            me: &self.me,
        };
        self.transcript.render(buffer.area, &mut buffer, &self.state, &look);
        buffer
    }

    /// The rows of a frame, without trailing spaces.
    fn frame(&mut self) -> Vec<String> {
        rows(&self.buffer()).collect()
    }

    /// All lines at this width.
    fn whole(&mut self) -> Vec<String> {
        self.whole_from(0)
    }

    /// All lines of the items from this number on.
    fn whole_from(&mut self, number: u64) -> Vec<String> {
        let mut transcript = Transcript::in_zone(TimeZone::UTC);
        transcript.shown.show_from(number);
        std::mem::swap(&mut transcript.folds, &mut self.transcript.folds);
        let (size, transcript) = ((self.size.0, 2_000), std::mem::replace(&mut self.transcript, transcript));
        let size = std::mem::replace(&mut self.size, size);
        let buffer = self.buffer();
        let count = self.transcript.rows.len();
        self.size = size;
        let whole = std::mem::replace(&mut self.transcript, transcript);
        self.transcript.folds = whole.folds;
        rows(&buffer).take(count).collect()
    }

    fn press(&mut self, key: &str) -> bool {
        self.transcript.handle(&Gesture::Key(key.parse().expect("a known key")))
    }

    fn mouse(&mut self, action: MouseAction, x: u16, y: u16) -> bool {
        let button = if action == MouseAction::Press { MouseButton::Left } else { MouseButton::None };
        self.transcript.handle(&Gesture::Mouse(Mouse { action, button, x, y, modifiers: Modifiers::NONE }))
    }
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = String> {
    let area = buffer.area;
    let row = move |y: u16| {
        let mut row = String::new();
        let mut x = area.x;
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(text::width(symbol).max(1)).unwrap_or(1);
        }
        row.trim_end().to_owned()
    };
    (area.y..area.bottom()).map(row)
}
