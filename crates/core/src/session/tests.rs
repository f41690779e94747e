use super::*;

#[derive(Default)]
struct Screen {
    text: &'static str,
    cursor: (u16, u16),
}

impl View for Screen {
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

/// A session with a clock that moves only when it is told to.
struct Bench {
    session: Session,
    now: Instant,
    screen: Screen,
    published: Vec<Event>,
}

impl Bench {
    fn new() -> Self {
        let now = Instant::now();
        Self { session: Session::new(now), now, screen: Screen::default(), published: Vec::new() }
    }

    fn after(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    /// What is to be done about it, beside telling those who watch.
    fn happens(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = self.session.handle(input, self.now, &self.screen);
        self.published.extend(effects.extract_if(.., |effect| matches!(effect, Effect::Publish(_))).filter_map(
            |effect| match effect {
                Effect::Publish(event) => Some(event),
                _ => None,
            },
        ));
        effects
    }

    fn types(&mut self, ticket: u64, id: Option<&str>, bytes: &[u8]) -> Vec<Effect> {
        let id = id.map(|id| RequestId::new(id).unwrap());
        self.happens(Input::Command(Ticket(ticket), id, Command::Type(Ok(bytes.into()), "a name".into())))
    }

    fn shows(&mut self, text: &'static str) -> Vec<Effect> {
        self.screen.text = text;
        self.happens(Input::Output(Output { updates: 1, loose: false }))
    }

    fn waits(&mut self, ticket: u64, condition: &str, milliseconds: u64) -> Vec<Effect> {
        let condition = Condition::parse(condition).unwrap();
        self.happens(Input::Wait(Ticket(ticket), condition, Duration::from_millis(milliseconds)))
    }
}

fn done(ticket: u64, delivered: bool, duplicate: bool) -> Effect {
    Effect::Answer(Ticket(ticket), Ok(Done { delivered, duplicate, named: Some("a name".into()) }))
}

fn refused(ticket: u64, refusal: Refusal) -> Effect {
    Effect::Answer(Ticket(ticket), Err(refusal))
}

fn waited(ticket: u64, why: Why, milliseconds: u64) -> Effect {
    Effect::Waited(Ticket(ticket), Waited { why, elapsed: Duration::from_millis(milliseconds) })
}

#[test]
fn a_command_is_written_and_then_answered() {
    let mut bench = Bench::new();
    assert_eq!(bench.types(1, None, b"ls"), [Effect::Write(b"ls".into())]);
    assert_eq!(bench.happens(Input::Offered(0)), [done(1, true, false)]);
}

#[test]
fn a_retried_request_is_delivered_once() {
    let mut bench = Bench::new();
    bench.types(1, Some("r1"), b"ls");
    bench.happens(Input::Offered(2));
    for ticket in 2..12 {
        assert_eq!(bench.types(ticket, Some("r1"), b"ls"), [done(ticket, false, true)]);
    }
    assert_eq!(bench.after(600_000).types(12, Some("r1"), b"ls"), [Effect::Write(b"ls".into())]);
}

#[test]
fn what_was_refused_is_no_duplicate() {
    let mut bench = Bench::new();
    bench.types(1, None, &vec![0; LONGEST_QUEUE]);
    bench.happens(Input::Offered(LONGEST_QUEUE));
    assert_eq!(bench.types(2, Some("r1"), b"x"), [refused(2, Refusal::QueueFull { queued: LONGEST_QUEUE })]);
    bench.happens(Input::Wrote(0));
    assert_eq!(bench.types(3, Some("r1"), b"x"), [Effect::Write(b"x".into())]);
}

#[test]
fn an_id_names_one_kind_of_command() {
    let mut bench = Bench::new();
    bench.types(1, Some("r1"), b"x");
    bench.happens(Input::Offered(0));
    let resize = Command::Resize(Size { columns: 80, rows: 24 });
    let effects = bench.happens(Input::Command(Ticket(2), Some(RequestId::new("r1").unwrap()), resize));
    assert_eq!(effects, [refused(2, Refusal::AnotherCommand)]);
}

#[test]
fn the_persons_window_decides_the_size() {
    let mut bench = Bench::new();
    let size = Size { columns: 80, rows: 24 };
    bench.happens(Input::Attached(true));
    assert_eq!(bench.happens(Input::Command(Ticket(1), None, Command::Resize(size))), [refused(1, Refusal::Attached)]);
    bench.happens(Input::Attached(false));
    assert_eq!(
        bench.happens(Input::Command(Ticket(2), None, Command::Resize(size))),
        [Effect::Resize(size), Effect::Answer(Ticket(2), Ok(Done { delivered: true, duplicate: false, named: None }))]
    );
}

#[test]
fn nothing_is_typed_to_a_program_that_has_ended_but_a_retry_hears_what_became_of_it() {
    let mut bench = Bench::new();
    bench.types(1, Some("r1"), b"exit\r");
    bench.happens(Input::Offered(0));
    bench.happens(Input::Exited(Exit::Code(0)));
    assert_eq!(bench.types(2, None, b"x"), [refused(2, Refusal::Ended)]);
    assert_eq!(bench.types(3, Some("r1"), b"exit\r"), [done(3, true, true)]);
}

#[test]
fn input_that_the_mode_does_not_have_is_refused() {
    let input = Input::Command(Ticket(1), None, Command::Type(Err(Refusal::NotWanted), String::new()));
    assert_eq!(Bench::new().happens(input), [refused(1, Refusal::NotWanted)]);
}

#[test]
fn a_wait_ends_with_the_frame_that_matches() {
    let mut bench = Bench::new();
    assert_eq!(bench.waits(1, r#"screen_contains "done""#, 5000), []);
    assert_eq!(bench.after(10).shows("working"), []);
    assert_eq!(bench.after(10).shows("done"), [waited(1, Why::Matched, 20)]);
    assert_eq!(bench.session.open_waits(), 0);
}

#[test]
fn a_wait_for_what_already_holds_ends_at_once() {
    let mut bench = Bench::new();
    bench.shows("ready");
    assert_eq!(bench.waits(1, r#"screen_contains "ready" and frames >= 1"#, 1), [waited(1, Why::Matched, 0)]);
}

#[test]
fn a_wait_that_does_not_match_ends_in_time() {
    let mut bench = Bench::new();
    bench.waits(1, "exited", 100);
    assert_eq!(bench.session.wake_at(), Some(bench.now + Duration::from_millis(100)));
    assert_eq!(bench.after(99).happens(Input::Tick), []);
    assert_eq!(bench.after(1).happens(Input::Tick), [waited(1, Why::TimedOut, 100)]);
}

#[test]
fn a_caller_that_hangs_up_no_longer_waits() {
    let mut bench = Bench::new();
    bench.waits(1, "exited", 100);
    bench.happens(Input::Leave(Ticket(1)));
    assert_eq!((bench.session.open_waits(), bench.session.wake_at()), (0, None));
}

#[test]
fn too_many_waits_are_refused() {
    let mut bench = Bench::new();
    for ticket in 0..MOST_WAITS as u64 {
        bench.waits(ticket, "exited", 100);
    }
    assert_eq!(bench.waits(999, "exited", 100), [refused(999, Refusal::TooManyWaits)]);
}

#[test]
fn the_end_of_the_program_answers_every_wait() {
    let mut bench = Bench::new();
    bench.waits(1, "exited", 1000);
    bench.waits(2, r#"screen_contains "never""#, 1000);
    bench.waits(3, "screen_stable 500", 1000);
    bench.after(5).happens(Input::Exited(Exit::Signal(9)));
    assert_eq!(bench.session.open_waits(), 3);
    let effects = bench.happens(Input::Drained);
    assert_eq!(effects, [waited(1, Why::Matched, 5), waited(2, Why::Ended, 5), waited(3, Why::Matched, 5)]);
    assert_eq!(bench.waits(4, "message_count > 5", 1000), [waited(4, Why::Ended, 0)]);
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
    assert_eq!(bench.after(40).happens(Input::Tick), [waited(1, Why::Matched, 140)]);
}

#[test]
fn a_look_right_after_typing_waits_for_the_effect() {
    let mut bench = Bench::new();
    bench.types(1, None, b"x");
    bench.happens(Input::Offered(0));
    assert_eq!(bench.happens(Input::Look(Ticket(2), Sight::Settled)), []);
    assert_eq!(bench.after(3).shows("x"), [Effect::Show(Ticket(2))]);
    assert_eq!(bench.happens(Input::Look(Ticket(3), Sight::Settled)), [Effect::Show(Ticket(3))]);
}

#[test]
fn a_look_does_not_wait_long_for_a_program_that_shows_nothing() {
    let mut bench = Bench::new();
    bench.types(1, None, b"x");
    bench.happens(Input::Offered(0));
    bench.happens(Input::Look(Ticket(2), Sight::Settled));
    let wake = bench.session.wake_at().unwrap();
    assert!(wake - bench.now <= Duration::from_millis(100));
    bench.now = wake;
    assert_eq!(bench.happens(Input::Tick), [Effect::Show(Ticket(2))]);
}

#[test]
fn the_status_follows_the_process_and_never_comes_back_from_the_dead() {
    let mut bench = Bench::new();
    bench.after(1).happens(Input::Stopped(true));
    assert_eq!(bench.session.status(), (Status::Stopped, bench.now));
    bench.after(1).happens(Input::Exited(Exit::Code(3)));
    let ended = bench.now;
    bench.after(1).happens(Input::Stopped(false));
    assert_eq!(bench.session.status(), (Status::Exited(Exit::Code(3)), ended));
}

#[test]
fn those_who_watch_are_told_what_happened_in_order_and_once() {
    let mut bench = Bench::new();
    let size = Size { columns: 80, rows: 24 };
    bench.types(1, Some("r1"), b"ls");
    bench.happens(Input::Offered(0));
    bench.types(2, Some("r1"), b"ls");
    bench.happens(Input::Command(Ticket(3), None, Command::Resize(size)));
    bench.happens(Input::Noticed(Notice::Bell(1)));
    bench.happens(Input::Stopped(true));
    bench.happens(Input::Stopped(true));
    bench.happens(Input::Stopped(false));
    bench.happens(Input::Exited(Exit::Code(3)));
    bench.happens(Input::Drained);
    let expected = [
        Event::Typed { bytes: 2 },
        Event::Resized(size),
        Event::Noticed(Notice::Bell(1)),
        Event::Stopped(true),
        Event::Stopped(false),
        Event::Exited(Exit::Code(3)),
    ];
    assert_eq!(bench.published, expected);
}

#[test]
fn a_look_shows_no_half_frame_unless_it_asks_for_this_moment() {
    let mut bench = Bench::new();
    bench.happens(Input::Output(Output { updates: 0, loose: true }));
    assert_eq!(bench.happens(Input::Look(Ticket(1), Sight::Settled)), []);
    assert_eq!(bench.happens(Input::Look(Ticket(2), Sight::Now)), [Effect::Show(Ticket(2))]);
    bench.now = bench.session.wake_at().unwrap();
    assert_eq!(bench.happens(Input::Tick), [Effect::Show(Ticket(1))]);
}
