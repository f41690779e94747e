//! Tests that frames can be drawn in any state and at any size.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use proptest::sample::select;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;
use wh_client::MirrorChange;
use wh_core::input::{Gesture, Modifiers, Mouse, MouseAction, MouseButton};
use wh_core::space::command::ConversationCommand;
use wh_core::space::event::{
    Acknowledgement, Activity, AgentStatus, Evidence, ParticipantRole, Pause, SpaceEvent, StreamFrame,
};
use wh_core::space::extent::{Extent, TextPiece};
use wh_core::space::item::{Item, ItemBody, ItemProgress, ToolCall, ToolKind, ToolStatus};
use wh_core::space::question::{OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};
use wh_core::space::state::SpaceState;

use crate::app::{App, AppEffect, BackgroundAnswer, BackgroundQuery, ClickTarget, SentCommand};
use crate::options::TuiOptions;
use crate::view;

fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn item(id: &str, body: ItemBody, progress: ItemProgress) -> SpaceEvent {
    let (from, at) = ("demo".into(), start());
    SpaceEvent::Item(Arc::new(Item {
        id: id.into(),
        from,
        to: None,
        turn: None,
        at,
        body,
        progress,
        extent: None,
        listed: Vec::new(),
        starts: Vec::new(),
    }))
}

fn question(options: usize, accepts_text: bool, lines: usize) -> ItemBody {
    let options = (0..options).map(|number| QuestionOption {
        id: number.to_string(),
        label: format!("Option {number} 日本語"),
        meaning: if number == 0 { OptionMeaning::AllowAlways } else { OptionMeaning::Other },
    });
    let details = vec![
        QuestionDetail::Command("echo \u{1b}[2J".into()),
        QuestionDetail::Text("words\n\n".repeat(lines)),
        QuestionDetail::Diff { path: "a/b".into(), old: None, new: "x\n".repeat(lines) },
        QuestionDetail::Input { tool: "tool".into(), input: json!({ "a": [1, 2, { "b": null }] }) },
    ];
    let question = Question {
        kind: QuestionKind::Permission,
        title: "May I? ".repeat(20),
        details,
        options: options.collect(),
        accepts_text,
        preselects: true,
    };
    ItemBody::Question { question, closing: None }
}

fn state(parts: u8, options: usize, lines: usize) -> SpaceState {
    let mut state = SpaceState::new("space", "me".into());
    let mut happens = |event: SpaceEvent| state.apply(&event, start());
    happens(SpaceEvent::Joined("me".into(), ParticipantRole::Human));
    happens(SpaceEvent::Joined("demo".into(), ParticipantRole::Agent));
    let status = AgentStatus {
        activity: Activity::Working("turn-1".into()),
        evidence: Evidence::Protocol,
        since: start(),
        observation: None,
        waits_for: None,
    };
    happens(SpaceEvent::Session("demo".into(), status));
    let said = ItemBody::Text { text: "# Hello\n\n* 日本\n".repeat(lines), attachments: vec![] };
    happens(item("m1", said, ItemProgress::Done));
    if parts & 1 != 0 {
        let thought =
            ItemBody::Thought { text: "hm 日本 ".repeat(lines * 9), action: Some("x\ny".into()), tokens: Some(5) };
        happens(item("t1", thought, ItemProgress::Growing));
    }
    if parts & 2 != 0 {
        happens(item("q1", question(options, parts & 4 != 0, lines), ItemProgress::Growing));
        happens(item("q2", question(0, true, 0), ItemProgress::Growing));
    }
    if parts & 16 != 0 {
        for (number, status) in [ToolStatus::Running, ToolStatus::Failed, ToolStatus::Pending].into_iter().enumerate() {
            let (name, title) = ("mcp__日本__x".into(), "\u{1b}[2J".repeat(lines));
            let input = json!({ "path": "/日本/語".repeat(lines) });
            let call = ToolCall { name, title, kind: ToolKind::Other, input, status, output: vec![] };
            happens(item(&format!("c{number}"), ItemBody::Tool(call), ItemProgress::Growing));
        }
    }
    if parts & 8 != 0 {
        let (item, from, to, at) = ("m1".into(), "me".into(), "demo".into(), start());
        happens(SpaceEvent::AcknowledgementWanted(Acknowledgement { item, from, to, at }));
        happens(SpaceEvent::StreamOpened("s1".into(), "demo".into()));
        let until = Some(start() + Duration::from_secs(30));
        happens(SpaceEvent::Paused("demo".into(), Some(Pause { by: "me".into(), until, reason: Some("r\n".into()) })));
        happens(SpaceEvent::StatusReported { by: "demo".into(), status: "busy".into(), summary: None });
        state.frame(StreamFrame { stream: "s1".into(), payload: json!({ "x": "y" }), at: start() });
    }
    state
}

fn gesture() -> impl Strategy<Value = Gesture> {
    let keys = [
        "enter",
        "escape",
        "up",
        "down",
        "left",
        "tab",
        "shift+tab",
        "pageup",
        "pagedown",
        "ctrl+home",
        "ctrl+end",
        "alt+up",
        "alt+down",
        "ctrl+o",
        "f1",
        "f2",
        "f3",
        "f4",
        "f5",
        "f6",
        "f7",
        "f8",
        "end",
        "ctrl+l",
        "backspace",
        "ctrl+z",
        "ctrl+c",
    ];
    let mouse = (0u16..130, 0u16..50, select(vec![MouseAction::Press, MouseAction::WheelUp, MouseAction::WheelDown]));
    prop_oneof![
        3 => select(keys.to_vec()).prop_map(|name| Gesture::Key(name.parse().unwrap())),
        2 => "[a1/@? 日\n]{1,6}".prop_map(Gesture::Text),
        1 => "[a\n]{0,30}".prop_map(Gesture::Paste),
        1 => mouse.prop_map(|(x, y, action)| {
            Gesture::Mouse(Mouse { action, button: MouseButton::Left, x, y, modifiers: Modifiers::NONE })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_frame_can_be_drawn(
        parts in 0u8..32,
        options in 0usize..12,
        lines in 0usize..40,
        steps in prop::collection::vec((gesture(), 1u16..140, 1u16..45), 1..12),
    ) {
        let state = state(parts, options, lines);
        let mut app = App::new(TuiOptions::new("me".into()));
        let mut now = start();
        app.sync(&state, &MirrorChange { reset: true, ..MirrorChange::default() }, now);
        for (gesture, columns, rows) in steps {
            now += Duration::from_millis(400);
            app.gesture(&gesture, &state, now);
            let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
            let drawn = view::draw(&mut app, &state, &mut buffer, now);
            if let Some(cursor) = drawn.cursor {
                prop_assert!(buffer.area.contains(cursor));
            }
        }
    }
}

#[test]
fn an_options_number_is_an_answer_and_the_next_question_comes() {
    let state = state(2, 3, 1);
    let mut app = App::new(TuiOptions::new("me".into()));
    app.sync(&state, &MirrorChange::default(), start());
    let digit = Gesture::Text("2".into());
    assert_eq!(app.gesture(&digit, &state, start()), [], "no frame has shown it yet");
    view::draw(&mut app, &state, &mut Buffer::empty(Rect::new(0, 0, 100, 60)), start());
    let effects = app.gesture(&digit, &state, start());
    assert!(matches!(effects.as_slice(), [AppEffect::Ask(_)]), "{effects:?}");
    let (item, _, count) = app.dialog.current(&state).unwrap();
    assert_eq!((item.id.as_str(), count), ("q2", 1));
}

#[test]
fn a_question_after_another_ignores_answers_until_the_user_pauses() {
    let mut state = SpaceState::new("space", "me".into());
    for id in ["q1", "q2"] {
        state.apply(&item(id, question(3, false, 1), ItemProgress::Growing), start());
    }
    let mut app = App::new(TuiOptions::new("me".into()));
    app.sync(&state, &MirrorChange::default(), start());
    view::draw(&mut app, &state, &mut Buffer::empty(Rect::new(0, 0, 100, 60)), start());
    assert_eq!(app.gesture(&Gesture::Text("22".into()), &state, start()).len(), 1, "one digit, one answer");
    assert_eq!(app.dialog.selected, None);
    let key = |name: &str| Gesture::Key(name.parse().unwrap());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 100, 60));
    view::draw(&mut app, &state, &mut buffer, start());
    let option = app
        .click_targets
        .iter()
        .find_map(|(area, spot)| matches!(spot, ClickTarget::Pane(_, 2)).then_some(*area))
        .unwrap();
    let press =
        |action| Mouse { action, button: MouseButton::Left, x: option.x, y: option.y, modifiers: Modifiers::NONE };
    let click = Gesture::Mouse(press(MouseAction::Press));
    let mut now = start();
    for gesture in [key("enter"), key("down"), key("enter"), click.clone(), Gesture::Text("2".into())] {
        now += Duration::from_millis(400);
        assert_eq!(app.gesture(&gesture, &state, now), [], "{gesture:?}");
    }
    assert_eq!(app.dialog.selected, Some(0), "arrows do what they do");
    now += Duration::from_millis(600);
    assert_eq!(app.gesture(&click, &state, now), [], "no frame has shown that it may be answered");
    now += Duration::from_millis(600);
    view::draw(&mut app, &state, &mut buffer, now);
    assert!(matches!(app.gesture(&click, &state, now).as_slice(), [AppEffect::Ask(_)]));
}

/// Types keys at given times into the UI of a space without an open question.
struct Typist {
    app: App,
    state: SpaceState,
}

impl Typist {
    fn new() -> Self {
        let mut state = SpaceState::new("space", "me".into());
        state.apply(&SpaceEvent::Joined("demo".into(), ParticipantRole::Agent), start());
        Self { app: App::new(TuiOptions::new("me".into())), state }
    }

    fn at(milliseconds: u64) -> SystemTime {
        start() + Duration::from_millis(milliseconds)
    }

    fn key(&mut self, name: &str, milliseconds: u64) -> Vec<AppEffect> {
        let gesture = name.parse().map_or_else(|_| Gesture::Text(name.into()), Gesture::Key);
        let gesture = if name.chars().count() == 1 { Gesture::Text(name.into()) } else { gesture };
        self.app.gesture(&gesture, &self.state, Self::at(milliseconds))
    }

    /// Types keys 40 ms apart and returns their effects.
    fn keys(&mut self, keys: &str, milliseconds: u64) -> Vec<AppEffect> {
        let times = (milliseconds..).step_by(40);
        keys.chars().zip(times).flat_map(|(key, at)| self.key(&key.to_string(), at)).collect()
    }

    fn asked(&mut self, milliseconds: u64) {
        self.state.apply(&item("q1", question(3, true, 0), ItemProgress::Growing), start());
        self.app.sync(&self.state, &MirrorChange::default(), Self::at(milliseconds));
    }

    fn draw(&mut self, milliseconds: u64) {
        view::draw(&mut self.app, &self.state, &mut Buffer::empty(Rect::new(0, 0, 100, 60)), Self::at(milliseconds));
    }

    #[track_caller]
    fn wrote(&self, draft: &str) {
        assert_eq!((self.app.composer.text().as_str(), self.app.dialog.field.text().as_str()), (draft, ""));
    }
}

#[test]
fn a_draft_continues_when_a_question_opens() {
    let mut typist = Typist::new();
    typist.keys("y", 0);
    // The user paused, or the machine was slow.
    typist.asked(2_000);
    typist.draw(2_000);
    assert_eq!(typist.keys("es 1 do it", 2_040), []);
    typist.wrote("yes 1 do it");
    // No frame has been drawn since, so these keys had queued up.
    assert_eq!(typist.keys(" 1", 9_000), []);
    typist.wrote("yes 1 do it 1");
    typist.draw(9_100);
    typist.draw(9_600);
    assert!(matches!(typist.key("1", 9_700).as_slice(), [AppEffect::Ask(_)]), "after a pause it is an answer");
}

#[test]
fn enter_on_a_draft_does_not_answer_a_new_question() {
    let mut typist = Typist::new();
    typist.app.composer.set_text("a draft from long ago");
    typist.asked(60_000);
    typist.draw(60_000);
    let effects = typist.key("enter", 60_100);
    let said = |effect: &AppEffect| {
        matches!(effect, AppEffect::Ask(SentCommand { command: ConversationCommand::Say { .. }, .. }))
    };
    assert!(matches!(effects.as_slice(), [effect] if said(effect)), "{effects:?}");
}

#[test]
fn typing_after_enter_does_not_answer() {
    let mut typist = Typist::new();
    typist.keys("hi", 0);
    typist.key("enter", 80);
    typist.asked(100);
    typist.draw(100);
    assert_eq!(typist.keys("1 more", 120), []);
    typist.wrote("1 more");
}

#[test]
fn text_begun_before_a_question_can_be_read_is_a_message() {
    let mut typist = Typist::new();
    typist.asked(0);
    assert_eq!(typist.keys("ab", 0), [], "before any frame");
    typist.wrote("ab");

    let mut typist = Typist::new();
    typist.asked(0);
    typist.draw(0);
    assert_eq!(typist.keys("no", 200), []);
    typist.wrote("no");
}

#[test]
fn a_program_may_answer_as_soon_as_a_question_is_drawn() {
    let mut typist = Typist::new();
    typist.app.gesture(&Gesture::Text("go".into()), &typist.state, Typist::at(0));
    typist.key("enter", 0);
    typist.asked(10);
    typist.draw(10);
    assert!(matches!(typist.key("1", 11).as_slice(), [AppEffect::Ask(_)]));

    let mut typist = Typist::new();
    typist.asked(10);
    typist.draw(10);
    typist.app.gesture(&Gesture::Text("own words".into()), &typist.state, Typist::at(11));
    assert_eq!((typist.app.composer.text().as_str(), typist.app.dialog.field.text().as_str()), ("", "own words"));
}

/// The UI with a question of two parts and its pager open at the last part, whose end has not been shown.
struct Paged {
    app: App,
    state: SpaceState,
}

impl Paged {
    const PART: u64 = 100 * LINE.len() as u64;

    fn new() -> Self {
        let extent = Extent { shown: 10, whole: 2 * Self::PART };
        let (from, at, body) = ("demo".into(), start(), question(3, false, 1));
        let (id, progress) = ("q1".into(), ItemProgress::Growing);
        let asked = Item {
            id,
            from,
            to: None,
            turn: None,
            at,
            body,
            progress,
            extent: Some(extent),
            listed: Vec::new(),
            starts: Vec::new(),
        };
        let mut state = SpaceState::new("space", "me".into());
        state.apply(&SpaceEvent::Item(Arc::new(asked)), start());
        let mut app = App::new(TuiOptions::new("me".into()));
        app.sync(&state, &MirrorChange::default(), start());
        let mut paged = Self { app, state };
        paged.draw();
        assert_eq!(paged.press("ctrl+o"), Some(0));
        paged.arrives(0, true);
        // Scrolls to the end of the first part and on to the next one.
        let asked = (0..100).find_map(|_| paged.press("pagedown"));
        assert_eq!(asked, Some(Self::PART));
        paged.arrives(Self::PART, true);
        paged
    }

    fn draw(&mut self) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
        view::draw(&mut self.app, &self.state, &mut buffer, start());
        buffer.content.iter().map(|cell| cell.symbol()).collect()
    }

    /// Presses a key, draws, and returns the offset of the requested part.
    fn press(&mut self, key: &str) -> Option<u64> {
        let effects = self.app.gesture(&Gesture::Key(key.parse().unwrap()), &self.state, start());
        self.draw();
        effects.into_iter().find_map(|effect| match effect {
            AppEffect::Query(BackgroundQuery::ItemPart(_, offset)) => Some(offset),
            _ => None,
        })
    }

    fn arrives(&mut self, offset: u64, ok: bool) {
        let extent = Extent { shown: 10, whole: 2 * Self::PART };
        let next = (offset == 0).then_some(Self::PART);
        let part = TextPiece { offset, text: LINE.repeat(100), next, extent };
        let came = if ok { Ok(part) } else { Err("it is gone".to_owned()) };
        self.app.on_agent_answer(BackgroundAnswer::ItemPart("q1".into(), offset, came), &self.state, start());
        self.draw();
    }

    fn unread(&self) -> u64 {
        self.app.dialog.read_progress.unread_bytes()
    }
}

const LINE: &str = "a line\n";

#[test]
fn the_end_does_not_count_as_shown_while_an_earlier_part_loads() {
    let mut paged = Paged::new();
    let unread = paged.unread();
    assert!(unread > 0);
    assert_eq!(paged.press("up"), Some(0));
    assert_eq!(paged.unread(), unread, "the old part stays where it is");
    assert_eq!(paged.press("end"), None, "one part is loaded at a time");
    assert_eq!(paged.unread(), unread);
    paged.arrives(0, true);
    assert_eq!(paged.unread(), unread);
    let first =
        format!("to byte {} of {}", super::lines::thousands(Paged::PART), super::lines::thousands(2 * Paged::PART));
    let screen = paged.draw();
    assert!(screen.contains(&first), "the last rows of the earlier part:\n{screen}");
    assert_eq!(paged.press("end"), Some(Paged::PART));
    assert_eq!(paged.unread(), unread);
    paged.arrives(Paged::PART, true);
    assert_eq!(paged.unread(), 0);
}

#[test]
fn a_part_that_does_not_arrive_changes_nothing() {
    let mut paged = Paged::new();
    let unread = paged.unread();
    for _ in 0..2 {
        assert_eq!(paged.press("up"), Some(0), "it can be tried again");
        paged.arrives(0, false);
        assert_eq!(paged.unread(), unread);
    }
    assert_eq!(paged.press("end"), None, "this is the last part");
    assert_eq!(paged.unread(), 0);
}
