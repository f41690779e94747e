use super::*;
use crate::terminal::profiles::CLAUDE;
use crate::terminal::reading::{BlockedPage, DialogKind, DialogReading};

fn composer(text: &str) -> ScreenPlace {
    ScreenPlace::Composer(ComposerReading::new(ComposerMode::Prompt, text.lines().map(str::to_owned).collect()))
}

fn dialog() -> ScreenPlace {
    ScreenPlace::Dialog(DialogReading {
        kind: DialogKind::Permission,
        title: "Bash command".to_owned(),
        question: "Do you want to proceed?".to_owned(),
        details: Vec::new(),
        options: Vec::new(),
        focus_on_text: false,
        multiple: false,
    })
}

/// Send with the screen that it sees and the time.
struct SendBench {
    send: PromptSend,
    place: ScreenPlace,
    asked: bool,
    works: bool,
    typed_at: Option<Instant>,
    at: Instant,
}

impl SendBench {
    fn new(text: &str) -> Self {
        let at = Instant::now();
        let send = PromptSend::new(text, &CLAUDE);
        Self { send, place: composer(""), asked: false, works: false, typed_at: None, at }
    }

    /// Lets time pass, and shows the screen to the send. Returns its actions.
    fn after(&mut self, time: Duration) -> Vec<SendAction> {
        self.at += time;
        let view = SendView { place: &self.place, asked: self.asked, works: self.works, typed_at: self.typed_at };
        self.send.observe(&view, &CLAUDE, self.at);
        self.send.take_actions()
    }

    fn wake_at(&self) -> Option<Instant> {
        let view = SendView { place: &self.place, asked: self.asked, works: self.works, typed_at: self.typed_at };
        self.send.wake_at(&view)
    }

    fn sees(&mut self, place: ScreenPlace) -> Vec<SendAction> {
        self.place = place;
        self.after(Duration::from_millis(1))
    }

    /// Reserves the keyboard and inserts the text.
    fn inserted(text: &str) -> Self {
        let mut bench = Self::new(text);
        assert_eq!(bench.after(Duration::ZERO), [SendAction::HoldKeyboard]);
        bench.send.held();
        assert_eq!(bench.sees(composer("")), [SendAction::Insert]);
        bench
    }

    /// Inserts the text and presses Enter.
    fn entered(text: &str) -> Self {
        let mut bench = Self::inserted(text);
        assert_eq!(bench.sees(composer(text)), []);
        assert_eq!(bench.after(CLAUDE.enter_delay), [SendAction::PressEnter]);
        bench
    }
}

#[test]
fn a_prompt_is_inserted_seen_entered_and_proved() {
    let mut bench = SendBench::entered("hello");
    assert!(bench.send.holds_keyboard());
    assert_eq!(bench.sees(composer("")), [SendAction::ReleaseKeyboard, SendAction::Delivered]);
    assert!(!bench.send.prove("hallo", PromptProof::Hook, bench.at), "another text proves nothing");
    assert!(bench.send.prove("hello\n", PromptProof::Hook, bench.at));
    assert_eq!(bench.send.take_actions(), [SendAction::Submitted(PromptProof::Hook)]);
    assert!(bench.send.is_over());
}

#[test]
fn a_proof_that_comes_before_the_screen_counts_as_delivery() {
    let mut bench = SendBench::entered("hello");
    assert!(bench.send.prove("hello", PromptProof::Transcript, bench.at));
    let expected = [SendAction::ReleaseKeyboard, SendAction::Delivered, SendAction::Submitted(PromptProof::Transcript)];
    assert_eq!(bench.send.take_actions(), expected);
}

#[test]
fn nothing_is_typed_into_a_dialog_a_draft_or_an_unknown_page() {
    let blocked = ScreenPlace::Blocked(BlockedPage { reason: "the model picker".into() });
    for (place, reason) in [
        (dialog(), "a question of the agent is open"),
        (composer("half a thought"), "a draft is in the composer"),
        (ScreenPlace::Unrecognised, "the agent's composer is not on the screen"),
        (blocked, "the screen shows the model picker"),
    ] {
        let mut bench = SendBench::new("hello");
        bench.place = place.clone();
        assert_eq!(bench.after(Duration::from_secs(600)), [], "{place:?}");
        let view = SendView { place: &bench.place, asked: false, works: false, typed_at: None };
        assert_eq!(bench.send.waits_for(&view, bench.at).as_deref(), Some(reason));
        assert_eq!(bench.sees(composer("")), [SendAction::HoldKeyboard], "it is sent once the composer is free");
    }
}

#[test]
fn the_keyboard_is_reserved_only_when_nobody_types() {
    let mut bench = SendBench::new("hello");
    bench.typed_at = Some(bench.at);
    assert_eq!(bench.after(TYPING_QUIET_WINDOW / 2), []);
    assert_eq!(bench.wake_at(), bench.typed_at.map(|typed| typed + TYPING_QUIET_WINDOW));
    assert_eq!(bench.after(TYPING_QUIET_WINDOW), [SendAction::HoldKeyboard]);
}

#[test]
fn a_prompt_that_waits_for_a_draft_needs_no_wake() {
    let mut bench = SendBench::new("hello");
    (bench.typed_at, bench.place) = (Some(bench.at), composer("draft"));
    assert_eq!(bench.after(Duration::ZERO), []);
    assert_eq!(
        bench.wake_at(),
        bench.typed_at.map(|typed| typed + TYPING_QUIET_WINDOW),
        "also once that time has come"
    );
    assert_eq!(bench.after(TYPING_QUIET_WINDOW), []);
    assert_eq!(bench.wake_at(), None);
}

#[test]
fn nothing_is_typed_while_the_agent_works() {
    let mut bench = SendBench::new("hello");
    bench.works = true;
    assert_eq!(bench.after(Duration::from_secs(60)), []);
    bench.works = false;
    assert_eq!(bench.after(Duration::ZERO), [SendAction::HoldKeyboard]);
}

#[test]
fn a_text_is_pasted_in_the_form_that_reaches_the_model() {
    assert_eq!(SendBench::new("/exit").send.text(), " /exit");
    assert_eq!(SendBench::new("hello").send.text(), "hello");
    let mut refused = SendBench::new("exit");
    let actions = refused.after(Duration::ZERO);
    assert!(matches!(&actions[..], [SendAction::Failed(_)]), "{actions:?}");
    assert!(refused.send.is_over());
}

#[test]
fn text_that_has_switched_the_mode_is_removed() {
    let mut bench = SendBench::inserted("hello");
    let shell = |rows: &[&str]| {
        let rows = rows.iter().map(|row| (*row).to_owned()).collect();
        ScreenPlace::Composer(ComposerReading::new(ComposerMode::Shell, rows))
    };
    assert_eq!(bench.sees(shell(&["ello"])), []);
    assert_eq!(bench.after(INSERT_TIMEOUT), []);
    assert_eq!(bench.after(Duration::from_millis(1)), [SendAction::Clear]);
    assert_eq!(bench.sees(shell(&[])), [], "the mode is still on");
    assert_eq!(bench.after(CLEAR_INTERVAL), [SendAction::Clear]);
    assert_eq!(bench.sees(composer("")), [SendAction::Insert]);
}

#[test]
fn a_text_behind_a_draft_that_was_not_drawn_yet_is_taken_back() {
    let mut bench = SendBench::inserted("hello");
    assert_eq!(bench.sees(composer("draft hello")), []);
    assert_eq!(bench.after(Duration::from_millis(1)), [SendAction::TakeBack(5)]);
    assert_eq!(bench.sees(composer("draft")), [SendAction::ReleaseKeyboard]);
    assert!(bench.send.is_waiting());
}

#[test]
fn a_cancelled_prompt_is_not_sent_after_it_was_taken_back() {
    let mut bench = SendBench::inserted("hello");
    bench.sees(composer("draft hello"));
    bench.after(Duration::from_millis(1));
    assert!(!bench.send.cancel(bench.at));
    let actions = bench.sees(composer("draft"));
    assert!(matches!(actions[..], [SendAction::ReleaseKeyboard, SendAction::Failed(_)]), "{actions:?}");
    assert!(bench.send.is_over());
}

#[test]
fn a_draft_is_not_removed_if_the_text_behind_it_cannot_be_taken_back() {
    let mut bench = SendBench::inserted("漢字");
    assert_eq!(bench.sees(composer("draft 漢字")), []);
    let actions = bench.after(Duration::from_millis(1));
    assert!(matches!(actions[..], [SendAction::ReleaseKeyboard, SendAction::Failed(_)]), "{actions:?}");
}

#[test]
fn a_text_that_does_not_appear_is_inserted_again_a_few_times() {
    let mut bench = SendBench::inserted("hello");
    for _ in 1..MAX_INSERTS {
        assert_eq!(bench.after(INSERT_TIMEOUT), []);
        assert_eq!(bench.after(Duration::from_millis(1)), [SendAction::Insert]);
    }
    assert_eq!(bench.after(INSERT_TIMEOUT), []);
    let actions = bench.after(Duration::from_millis(1));
    assert!(matches!(actions[..], [SendAction::ReleaseKeyboard, SendAction::Failed(_)]), "{actions:?}");
}

#[test]
fn a_text_that_appears_twice_is_removed_and_inserted_once() {
    let mut bench = SendBench::inserted("hello");
    assert_eq!(bench.after(INSERT_TIMEOUT), []);
    assert_eq!(bench.after(Duration::from_millis(1)), [SendAction::Insert]);
    assert_eq!(bench.sees(composer("hellohello")), []);
    assert_eq!(bench.after(INSERT_TIMEOUT), []);
    assert_eq!(bench.after(Duration::from_millis(1)), [SendAction::Clear]);
    assert_eq!(bench.sees(composer("")), [SendAction::Insert]);
    assert_eq!(bench.sees(composer("hello")), []);
    assert_eq!(bench.after(CLAUDE.enter_delay), [SendAction::PressEnter]);
}

#[test]
fn a_draft_that_appears_with_the_reservation_is_left_alone() {
    let mut bench = SendBench::new("hello");
    assert_eq!(bench.after(Duration::ZERO), [SendAction::HoldKeyboard]);
    bench.send.held();
    assert_eq!(bench.sees(composer("h")), [SendAction::ReleaseKeyboard]);
    assert!(bench.send.is_waiting());
}

#[test]
fn enter_is_pressed_again_only_while_the_text_is_in_the_composer() {
    let mut bench = SendBench::entered("hello");
    assert_eq!(bench.after(ENTER_GRACE / 2), []);
    assert_eq!(bench.after(ENTER_GRACE), [SendAction::PressEnter]);
    assert_eq!(bench.sees(composer("")), [SendAction::ReleaseKeyboard, SendAction::Delivered]);
    assert_eq!(bench.after(ENTER_GRACE * 2), [], "the composer is empty, so Enter could submit something else");
}

#[test]
fn text_that_enter_does_not_submit_is_removed() {
    let mut bench = SendBench::entered("hello");
    for _ in 1..MAX_ENTERS {
        assert_eq!(bench.after(ENTER_GRACE), [SendAction::PressEnter]);
    }
    assert_eq!(bench.after(ENTER_GRACE), []);
    assert_eq!(bench.after(Duration::from_millis(1)), [SendAction::Clear]);
    let actions = bench.sees(composer(""));
    assert!(matches!(&actions[..], [SendAction::ReleaseKeyboard, SendAction::Failed(_)]), "{actions:?}");
}

#[test]
fn a_dialog_between_text_and_enter_gets_no_key() {
    let mut bench = SendBench::inserted("1");
    assert_eq!(bench.sees(composer("1")), []);
    assert_eq!(bench.sees(dialog()), []);
    bench.asked = true;
    assert_eq!(bench.after(CLAUDE.enter_delay * 10), []);
    bench.asked = false;
    assert_eq!(bench.sees(composer("1")), [], "the delay begins again");
    assert_eq!(bench.after(CLAUDE.enter_delay), [SendAction::PressEnter]);
}

#[test]
fn a_list_of_completions_is_closed_before_enter() {
    let mut bench = SendBench::inserted("@file");
    let shown = ComposerReading::new(ComposerMode::Prompt, vec!["@file".to_owned()]);
    let open = ScreenPlace::Composer(ComposerReading { completion_open: true, ..shown });
    assert_eq!(bench.sees(open), []);
    assert_eq!(bench.after(CLAUDE.enter_delay), [SendAction::CloseCompletion]);
    assert_eq!(bench.sees(composer("@file ")), []);
    assert_eq!(bench.after(CLAUDE.enter_delay), [SendAction::PressEnter]);
}

#[test]
fn a_prompt_without_proof_is_reported_as_unproven() {
    let mut bench = SendBench::entered("hello");
    bench.sees(composer(""));
    assert_eq!(bench.after(PROOF_TIMEOUT), [SendAction::Unproven]);
    assert!(!bench.send.prove("hello", PromptProof::Hook, bench.at));
}

#[test]
fn an_untyped_prompt_is_cancelled_without_a_trace_and_a_typed_one_is_removed() {
    let mut bench = SendBench::new("hello");
    bench.after(Duration::ZERO);
    assert!(bench.send.cancel(bench.at));
    assert_eq!(bench.send.take_actions(), [SendAction::ReleaseKeyboard]);

    let mut bench = SendBench::inserted("hello");
    bench.sees(composer("hello"));
    assert!(!bench.send.cancel(bench.at));
    assert_eq!(bench.after(Duration::from_millis(1)), [SendAction::Clear]);
    assert!(matches!(bench.sees(composer(""))[..], [SendAction::ReleaseKeyboard, SendAction::Failed(_)]));

    let mut bench = SendBench::entered("hello");
    assert!(!bench.send.cancel(bench.at), "the agent may have it already");
    assert_eq!(bench.send.take_actions(), []);
}
