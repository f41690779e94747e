use super::*;
use crate::request::CommandContent;

#[derive(Default)]
struct Screen {
    text: &'static str,
    cursor: (u16, u16),
}

impl ScreenAccess for Screen {
    fn text(&self) -> String {
        self.text.to_owned()
    }

    fn cursor(&self) -> (u16, u16) {
        self.cursor
    }

    fn title(&self) -> Option<String> {
        None
    }

    fn fingerprint(&self) -> u64 {
        self.text.bytes().map(u64::from).sum()
    }
}

/// A session with a manual clock.
struct Bench {
    session: SessionMachine,
    now: Instant,
    screen: Screen,
    published: Vec<Event>,
    settled: Vec<(RequestId, DeliveryState)>,
}

impl Bench {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            session: SessionMachine::new(now),
            now,
            screen: Screen::default(),
            published: Vec::new(),
            settled: Vec::new(),
        }
    }

    fn after(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    /// Returns the effects, except publications and settled commands.
    fn happens(&mut self, input: SessionInput) -> Vec<SessionEffect> {
        let mut effects = self.session.handle(input, self.now, &self.screen);
        self.settled.extend(effects.extract_if(.., |effect| matches!(effect, SessionEffect::Settled(..))).filter_map(
            |effect| match effect {
                SessionEffect::Settled(id, taken) => Some((id, taken.delivery)),
                _ => None,
            },
        ));
        self.published.extend(effects.extract_if(.., |effect| matches!(effect, SessionEffect::Publish(_))).filter_map(
            |effect| match effect {
                SessionEffect::Publish(event) => Some(event),
                _ => None,
            },
        ));
        effects
    }

    fn types(&mut self, ticket: u64, id: Option<&str>, bytes: &[u8]) -> Vec<SessionEffect> {
        let command = TerminalCommand::Type { bytes: bytes.into(), answer: AnswerTiming::Offered };
        self.happens(SessionInput::Command(Ticket(ticket), id.map(|id| request(id, bytes)), command))
    }

    /// Types with [`AnswerTiming::Settled`].
    fn delivers(&mut self, ticket: u64, bytes: &[u8]) -> Vec<SessionEffect> {
        let command = TerminalCommand::Type { bytes: bytes.into(), answer: AnswerTiming::Settled };
        self.happens(SessionInput::Command(Ticket(ticket), None, command))
    }

    fn interrupts(&mut self, ticket: u64, id: Option<&str>, then: &[u8]) -> Vec<SessionEffect> {
        let command = TerminalCommand::Interrupt { then: then.into() };
        self.happens(SessionInput::Command(Ticket(ticket), id.map(|id| request(id, then)), command))
    }

    fn done(&self, ticket: u64, delivery: DeliveryState, duplicate: bool) -> SessionEffect {
        SessionEffect::Answer(Ticket(ticket), Ok(InputAccepted { delivery, duplicate }))
    }

    /// Returns the answer of a command whose bytes were all delivered now.
    fn delivered(&self, ticket: u64) -> SessionEffect {
        self.done(ticket, DeliveryState::Delivered(self.now), false)
    }

    fn delivery(&mut self, id: &str) -> DeliveryState {
        self.session.receipt(&RequestId::new(id).unwrap(), self.now).unwrap().delivery
    }

    fn shows(&mut self, text: &'static str) -> Vec<SessionEffect> {
        self.screen.text = text;
        self.happens(SessionInput::Output(FrameBoundaries { updates: 1, unsynchronized: false }))
    }

    fn waits(&mut self, ticket: u64, condition: &str, milliseconds: u64) -> Vec<SessionEffect> {
        let condition = Condition::parse(condition).unwrap();
        self.happens(SessionInput::Wait(Ticket(ticket), condition, Duration::from_millis(milliseconds)))
    }
}

fn request(id: &str, bytes: &[u8]) -> FingerprintedId {
    FingerprintedId::new(RequestId::new(id).unwrap(), "owner", &CommandContent::text(str::from_utf8(bytes).unwrap()))
}

fn refused(ticket: u64, refusal: TerminalRefusal) -> SessionEffect {
    SessionEffect::Answer(Ticket(ticket), Err(refusal))
}

fn waited(ticket: u64, why: WaitOutcome, milliseconds: u64) -> SessionEffect {
    SessionEffect::Waited(Ticket(ticket), WaitResult { outcome: why, elapsed: Duration::from_millis(milliseconds) })
}

#[test]
fn a_command_is_written_and_then_answered() {
    let mut bench = Bench::new();
    assert_eq!(bench.types(1, None, b"ls"), [SessionEffect::Write(b"ls".into())]);
    assert_eq!(bench.happens(SessionInput::Offered(0)), [bench.delivered(1)]);
}

#[test]
fn a_retried_request_is_delivered_once() {
    let mut bench = Bench::new();
    bench.types(1, Some("r1"), b"ls");
    bench.happens(SessionInput::Offered(2));
    for ticket in 2..12 {
        assert_eq!(bench.types(ticket, Some("r1"), b"ls"), [bench.done(ticket, DeliveryState::Queued, true)]);
    }
    assert_eq!(bench.after(600_000).types(12, Some("r1"), b"ls"), [SessionEffect::Write(b"ls".into())]);
}

#[test]
fn a_refused_command_is_not_a_duplicate() {
    let mut bench = Bench::new();
    bench.types(1, None, &vec![0; MAX_QUEUED_INPUT_BYTES]);
    bench.happens(SessionInput::Offered(MAX_QUEUED_INPUT_BYTES));
    assert_eq!(
        bench.types(2, Some("r1"), b"x"),
        [refused(2, TerminalRefusal::QueueFull { queued: MAX_QUEUED_INPUT_BYTES })]
    );
    bench.happens(SessionInput::Wrote(0));
    assert_eq!(bench.types(3, Some("r1"), b"x"), [SessionEffect::Write(b"x".into())]);
}

#[test]
fn an_id_names_one_command_with_one_content() {
    let mut bench = Bench::new();
    bench.types(1, Some("r1"), b"x");
    bench.happens(SessionInput::Offered(0));
    assert_eq!(bench.types(2, Some("r1"), b"y"), [refused(2, TerminalRefusal::RequestIdReused)]);
    let size = Size { columns: 80, rows: 24 };
    let resize = FingerprintedId::new(RequestId::new("r1").unwrap(), "owner", &CommandContent::Resize(size));
    let effects = bench.happens(SessionInput::Command(Ticket(3), Some(resize), TerminalCommand::Resize(size)));
    assert_eq!(effects, [refused(3, TerminalRefusal::RequestIdReused)]);
}

#[test]
fn a_caller_may_be_answered_when_the_last_byte_is_delivered_or_lost() {
    let mut bench = Bench::new();
    bench.delivers(1, b"12345");
    assert_eq!(bench.happens(SessionInput::Offered(3)), []);
    bench.delivers(2, b"67890");
    assert_eq!(bench.happens(SessionInput::Offered(8)), []);
    assert_eq!(bench.happens(SessionInput::Wrote(5)), [bench.delivered(1)]);
    assert_eq!(bench.happens(SessionInput::Unwritable), [bench.done(2, DeliveryState::Lost(InputLoss::Ended), false)]);
}

#[test]
fn keys_and_terminal_replies_are_queued_like_commands() {
    let mut bench = Bench::new();
    assert_eq!(bench.happens(SessionInput::Keys(b"key".into())), [SessionEffect::Write(b"key".into())]);
    assert_eq!(bench.happens(SessionInput::Offered(3)), []);
    assert_eq!(bench.happens(SessionInput::Replied(b"reply".into())), [SessionEffect::Reply(b"reply".into())]);
    bench.happens(SessionInput::Offered(8));
    bench.types(1, Some("r1"), b"text");
    assert_eq!(bench.happens(SessionInput::Offered(12)), [bench.done(1, DeliveryState::Queued, false)]);
    assert_eq!(bench.session.queued(), 12);
    bench.happens(SessionInput::Wrote(1));
    assert_eq!(bench.delivery("r1"), DeliveryState::Queued);
    bench.happens(SessionInput::Wrote(0));
    assert_eq!(bench.delivery("r1"), DeliveryState::Delivered(bench.now));
    bench.happens(SessionInput::Attached(true));
    assert_eq!(bench.happens(SessionInput::Replied(b"reply".into())), [], "the person's own terminal replies");
}

#[test]
fn an_attached_terminal_determines_the_size() {
    let mut bench = Bench::new();
    let size = Size { columns: 80, rows: 24 };
    bench.happens(SessionInput::Attached(true));
    assert_eq!(
        bench.happens(SessionInput::Command(Ticket(1), None, TerminalCommand::Resize(size))),
        [refused(1, TerminalRefusal::Attached)]
    );
    bench.happens(SessionInput::Attached(false));
    assert_eq!(
        bench.happens(SessionInput::Command(Ticket(2), None, TerminalCommand::Resize(size))),
        [SessionEffect::Resize(size), bench.delivered(2)]
    );
}

#[test]
fn an_ended_program_gets_no_input_but_a_retry_is_answered() {
    let mut bench = Bench::new();
    bench.types(1, Some("r1"), b"exit\r");
    bench.happens(SessionInput::Offered(0));
    bench.happens(SessionInput::Exited(Exit::Code(0)));
    assert_eq!(bench.types(2, None, b"x"), [refused(2, TerminalRefusal::Ended)]);
    assert_eq!(bench.types(3, Some("r1"), b"exit\r"), [bench.done(3, DeliveryState::Delivered(bench.now), true)]);
}

#[test]
fn input_that_the_mode_does_not_have_is_refused_unless_it_is_a_retry() {
    let mut bench = Bench::new();
    let (request, other) = (request("r1", b"click"), request("r1", b"other"));
    let refuse = |bench: &mut Bench, request: Option<&FingerprintedId>| {
        let now = bench.now;
        bench.session.refuse(request, TerminalRefusal::NotWanted, now)
    };
    assert_eq!(refuse(&mut bench, None), Err(TerminalRefusal::NotWanted));
    assert_eq!(refuse(&mut bench, Some(&request)), Err(TerminalRefusal::NotWanted));
    bench.types(1, Some("r1"), b"click");
    bench.happens(SessionInput::Offered(0));
    let duplicate = InputAccepted { delivery: DeliveryState::Delivered(bench.now), duplicate: true };
    assert_eq!(refuse(&mut bench, Some(&request)), Ok(duplicate));
    assert_eq!(refuse(&mut bench, Some(&other)), Err(TerminalRefusal::RequestIdReused));
    bench.happens(SessionInput::Exited(Exit::Code(0)));
    assert_eq!(refuse(&mut bench, None), Err(TerminalRefusal::Ended));
}

#[test]
fn a_wait_ends_with_the_frame_that_matches() {
    let mut bench = Bench::new();
    assert_eq!(bench.waits(1, r#"screen_contains "done""#, 5000), []);
    assert_eq!(bench.after(10).shows("working"), []);
    assert_eq!(bench.after(10).shows("done"), [waited(1, WaitOutcome::Matched, 20)]);
    assert_eq!(bench.session.open_waits(), 0);
}

#[test]
fn a_wait_for_what_already_holds_ends_at_once() {
    let mut bench = Bench::new();
    bench.shows("ready");
    assert_eq!(bench.waits(1, r#"screen_contains "ready" and frames >= 1"#, 1), [waited(1, WaitOutcome::Matched, 0)]);
}

#[test]
fn a_wait_that_does_not_match_ends_in_time() {
    let mut bench = Bench::new();
    bench.waits(1, "exited", 100);
    assert_eq!(bench.session.wake_at(), Some(bench.now + Duration::from_millis(100)));
    assert_eq!(bench.after(99).happens(SessionInput::Tick), []);
    assert_eq!(bench.after(1).happens(SessionInput::Tick), [waited(1, WaitOutcome::TimedOut, 100)]);
}

#[test]
fn a_cancelled_wait_is_removed() {
    let mut bench = Bench::new();
    bench.waits(1, "exited", 100);
    bench.happens(SessionInput::CancelWait(Ticket(1)));
    assert_eq!((bench.session.open_waits(), bench.session.wake_at()), (0, None));
}

#[test]
fn too_many_waits_are_refused() {
    let mut bench = Bench::new();
    for ticket in 0..MAX_OPEN_WAITS as u64 {
        bench.waits(ticket, "exited", 100);
    }
    assert_eq!(bench.waits(999, "exited", 100), [refused(999, TerminalRefusal::TooManyWaits)]);
}

#[test]
fn the_end_of_the_program_answers_every_wait() {
    let mut bench = Bench::new();
    bench.waits(1, "exited", 1000);
    bench.waits(2, r#"screen_contains "never""#, 1000);
    bench.waits(3, "screen_stable 500", 1000);
    bench.after(5).happens(SessionInput::Exited(Exit::Signal(9)));
    assert_eq!(bench.session.open_waits(), 3);
    let effects = bench.happens(SessionInput::Drained);
    assert_eq!(
        effects,
        [waited(1, WaitOutcome::Matched, 5), waited(2, WaitOutcome::Ended, 5), waited(3, WaitOutcome::Matched, 5)]
    );
    assert_eq!(bench.waits(4, "message_count > 5", 1000), [waited(4, WaitOutcome::Ended, 0)]);
}

#[test]
fn a_screen_is_stable_when_it_has_looked_the_same_for_long_enough() {
    let mut bench = Bench::new();
    bench.shows("a");
    assert_eq!(bench.after(50).waits(1, "screen_stable 100", 5000), []);
    assert_eq!(bench.session.wake_at(), Some(bench.now + Duration::from_millis(50)));
    assert_eq!(bench.after(40).shows("b"), []);
    assert_eq!(bench.after(60).shows("b"), [], "the same picture painted again");
    assert_eq!(bench.session.wake_at(), Some(bench.now + Duration::from_millis(40)));
    assert_eq!(bench.after(40).happens(SessionInput::Tick), [waited(1, WaitOutcome::Matched, 140)]);
}

#[test]
fn a_screen_read_after_typing_waits_for_the_effect() {
    let mut bench = Bench::new();
    bench.types(1, None, b"x");
    bench.happens(SessionInput::Offered(0));
    assert_eq!(bench.happens(SessionInput::ReadScreen(Ticket(2), ScreenTiming::Settled)), []);
    assert_eq!(bench.after(3).shows("x"), [SessionEffect::Show(Ticket(2))]);
    assert_eq!(
        bench.happens(SessionInput::ReadScreen(Ticket(3), ScreenTiming::Settled)),
        [SessionEffect::Show(Ticket(3))]
    );
}

#[test]
fn a_screen_read_does_not_wait_long_for_a_silent_program() {
    let mut bench = Bench::new();
    bench.types(1, None, b"x");
    bench.happens(SessionInput::Offered(0));
    bench.happens(SessionInput::ReadScreen(Ticket(2), ScreenTiming::Settled));
    let wake = bench.session.wake_at().unwrap();
    assert!(wake - bench.now <= Duration::from_millis(100));
    bench.now = wake;
    assert_eq!(bench.happens(SessionInput::Tick), [SessionEffect::Show(Ticket(2))]);
}

#[test]
fn the_status_follows_the_process_and_is_final_after_its_end() {
    let mut bench = Bench::new();
    bench.after(1).happens(SessionInput::Stopped(true));
    assert_eq!(bench.session.status(), (ProgramStatus::Stopped, bench.now));
    bench.after(1).happens(SessionInput::Exited(Exit::Code(3)));
    let ended = bench.now;
    bench.after(1).happens(SessionInput::Stopped(false));
    assert_eq!(bench.session.status(), (ProgramStatus::Exited(Exit::Code(3)), ended));
}

#[test]
fn events_are_published_in_order_and_once() {
    let mut bench = Bench::new();
    let size = Size { columns: 80, rows: 24 };
    bench.types(1, Some("r1"), b"ls");
    bench.happens(SessionInput::Offered(0));
    bench.types(2, Some("r1"), b"ls");
    bench.happens(SessionInput::Command(Ticket(3), None, TerminalCommand::Resize(size)));
    bench.happens(SessionInput::Noticed(TerminalNotice::Bell(1)));
    bench.happens(SessionInput::Stopped(true));
    bench.happens(SessionInput::Stopped(true));
    bench.happens(SessionInput::Stopped(false));
    bench.happens(SessionInput::Exited(Exit::Code(3)));
    bench.happens(SessionInput::Drained);
    let expected = [
        Event::Typed { bytes: 2 },
        Event::Resized(size),
        Event::Noticed(TerminalNotice::Bell(1)),
        Event::Stopped(true),
        Event::Stopped(false),
        Event::Exited(Exit::Code(3)),
    ];
    assert_eq!(bench.published, expected);
}

#[test]
fn a_screen_read_has_complete_frames_unless_it_is_immediate() {
    let mut bench = Bench::new();
    bench.happens(SessionInput::Output(FrameBoundaries { updates: 0, unsynchronized: true }));
    assert_eq!(bench.happens(SessionInput::ReadScreen(Ticket(1), ScreenTiming::Settled)), []);
    assert_eq!(bench.happens(SessionInput::ReadScreen(Ticket(2), ScreenTiming::Now)), [SessionEffect::Show(Ticket(2))]);
    bench.now = bench.session.wake_at().unwrap();
    assert_eq!(bench.happens(SessionInput::Tick), [SessionEffect::Show(Ticket(1))]);
}

const DISCARD: SessionEffect = SessionEffect::DiscardInput { keep_next: true };

const WITH_SIGNALS: UnreadInput = UnreadInput { bytes: 0, signals: true, runnable: false };

#[test]
fn a_program_that_was_reading_is_interrupted_when_it_pauses() {
    let mut bench = Bench::new();
    bench.types(1, None, b"a line\r");
    bench.happens(SessionInput::Offered(0));
    assert_eq!(bench.after(5).interrupts(2, None, b""), [DISCARD]);
    assert_eq!(bench.happens(SessionInput::Discarded(WITH_SIGNALS)), []);
    bench.after(30).shows("$ a line");
    assert_eq!(bench.after(49).happens(SessionInput::Tick), []);
    assert_eq!(bench.after(1).happens(SessionInput::Tick), [SessionEffect::CheckUnreadInput]);
    assert_eq!(bench.happens(SessionInput::Unread(UnreadInput { runnable: true, ..WITH_SIGNALS })), []);
    assert_eq!(bench.after(20).happens(SessionInput::Tick), [SessionEffect::CheckUnreadInput]);
    assert_eq!(bench.happens(SessionInput::Unread(WITH_SIGNALS)), [SessionEffect::DiscardInput { keep_next: false }]);
    assert_eq!(bench.happens(SessionInput::Discarded(WITH_SIGNALS)), [SessionEffect::Interrupt]);
    assert_eq!(bench.happens(SessionInput::Interrupted), [bench.delivered(2)]);
}

#[test]
fn a_text_after_an_interrupt_is_typed_when_the_program_pauses_after_output() {
    let mut bench = Bench::new();
    assert_eq!(bench.interrupts(1, Some("r1"), b"ls\r"), [DISCARD]);
    assert_eq!(bench.happens(SessionInput::Discarded(WITH_SIGNALS)), [SessionEffect::Interrupt]);
    assert_eq!(bench.happens(SessionInput::Interrupted), []);
    assert_eq!(bench.interrupts(2, Some("r1"), b"ls\r"), [bench.done(2, DeliveryState::Queued, true)]);
    bench.after(10).shows("^C");
    bench.after(30).shows("$");
    assert_eq!(bench.after(49).happens(SessionInput::Tick), []);
    assert_eq!(bench.session.wake_at(), Some(bench.now + Duration::from_millis(1)));
    assert_eq!(bench.after(1).happens(SessionInput::Tick), [SessionEffect::CheckUnreadInput]);
    assert_eq!(bench.happens(SessionInput::Unread(WITH_SIGNALS)), [SessionEffect::Write(b"ls\r".into())]);
    assert_eq!(bench.happens(SessionInput::Offered(0)), [bench.delivered(1)]);
    assert_eq!(bench.session.wake_at(), None);
}

#[test]
fn a_text_after_an_interrupt_is_typed_to_a_silent_program_after_a_second() {
    let mut bench = Bench::new();
    bench.interrupts(1, None, b"x");
    bench.happens(SessionInput::Interrupted);
    assert_eq!(bench.session.wake_at(), Some(bench.now + INTERRUPT_SILENCE_TIMEOUT));
    assert_eq!(bench.after(1000).happens(SessionInput::Tick), [SessionEffect::CheckUnreadInput]);
    assert_eq!(bench.happens(SessionInput::Unread(WITH_SIGNALS)), [SessionEffect::Write(b"x".into())]);
}

#[test]
fn an_interrupt_is_answered_when_the_program_has_it_and_later_input_waits() {
    let mut bench = Bench::new();
    bench.interrupts(1, None, b"");
    assert_eq!(bench.happens(SessionInput::Interrupted), [bench.delivered(1)]);
    assert_eq!(bench.types(2, None, b"a"), []);
    assert_eq!(bench.happens(SessionInput::Keys(b"b".into())), []);
    assert_eq!(bench.happens(SessionInput::Replied(b"reply".into())), [SessionEffect::Reply(b"reply".into())]);
    bench.happens(SessionInput::Offered(0));
    assert_eq!(bench.session.queued(), 2);
    bench.shows("$");
    assert_eq!(bench.after(50).happens(SessionInput::Tick), [SessionEffect::CheckUnreadInput]);
    assert_eq!(bench.happens(SessionInput::Unread(WITH_SIGNALS)), [SessionEffect::Write(b"a".into())]);
    assert_eq!(bench.happens(SessionInput::Offered(0)), [bench.delivered(2), SessionEffect::Write(b"b".into())]);
    assert_eq!(bench.happens(SessionInput::Offered(0)), []);
    assert_eq!(bench.types(3, None, b"c"), [SessionEffect::Write(b"c".into())]);
}

#[test]
fn an_interrupt_by_a_byte_is_not_answered_before_the_byte_was_read() {
    let mut bench = Bench::new();
    bench.interrupts(1, Some("r1"), b"");
    let raw = SessionInput::Discarded(UnreadInput { signals: false, ..WITH_SIGNALS });
    assert_eq!(bench.happens(raw), [SessionEffect::Write(vec![CTRL_C])]);
    bench.happens(SessionInput::Offered(0));
    bench.types(2, None, b"later");
    bench.shows("a clock that goes on");
    for _ in 0..20 {
        bench.now = bench.session.wake_at().unwrap();
        let effects = bench.happens(SessionInput::Tick);
        let late =
            SessionEffect::Answer(Ticket(2), Ok(InputAccepted { delivery: DeliveryState::Queued, duplicate: false }));
        assert!(
            effects.iter().all(|effect| *effect == SessionEffect::CheckUnreadInput || *effect == late),
            "{effects:?}"
        );
        bench.happens(SessionInput::Unread(UnreadInput { bytes: 1, signals: false, runnable: false }));
    }
    assert_eq!(bench.delivery("r1"), DeliveryState::Queued);
    bench.now = bench.session.wake_at().unwrap();
    bench.happens(SessionInput::Tick);
    let effects = bench.happens(SessionInput::Unread(UnreadInput { signals: false, ..WITH_SIGNALS }));
    assert_eq!(effects, [bench.delivered(1), SessionEffect::Write(b"later".into())]);
}

#[test]
fn an_interrupt_discards_the_queue_and_answers_its_callers() {
    let mut bench = Bench::new();
    bench.types(1, Some("r1"), b"12345");
    bench.happens(SessionInput::Offered(5));
    bench.delivers(2, b"67890");
    bench.happens(SessionInput::Offered(10));
    let lost = DeliveryState::Lost(InputLoss::Interrupted);
    assert_eq!(bench.interrupts(3, None, b"text"), [bench.done(2, lost, false), DISCARD]);
    assert_eq!((bench.delivery("r1"), bench.session.queued()), (lost, 4));
    bench.happens(SessionInput::Interrupted);
    bench.types(4, Some("r4"), b"held");
    assert_eq!(
        bench.interrupts(5, None, b""),
        [bench.done(3, lost, false), bench.done(4, lost, false), DISCARD],
        "a second interrupt discards the text of the first"
    );
    assert_eq!(bench.happens(SessionInput::Unwritable), [bench.done(5, DeliveryState::Lost(InputLoss::Ended), false)]);
}

#[test]
fn an_interrupt_is_not_refused_because_of_queued_input() {
    let mut bench = Bench::new();
    bench.types(1, None, &vec![b'x'; MAX_QUEUED_INPUT_BYTES]);
    bench.happens(SessionInput::Offered(MAX_QUEUED_INPUT_BYTES));
    assert_eq!(bench.types(2, None, b"x"), [refused(2, TerminalRefusal::QueueFull { queued: MAX_QUEUED_INPUT_BYTES })]);
    assert_eq!(bench.interrupts(3, None, b"x"), [DISCARD]);
}
