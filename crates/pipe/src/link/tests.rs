use super::*;
use crate::process::Exit;
use crate::read_budget::HARD_LIMIT_LINES;

/// Test codec: `? ID TEXT` asks, `= ID TEXT` answers, `- ID` withdraws, and any other line is a message.
struct Words;

enum Frame {
    Ask(&'static str),
    Answer(&'static str, &'static str),
    Say(&'static str),
}

impl Codec for Words {
    type Frame = Frame;
    type Id = u64;
    type Reply = String;
    type Message = String;

    fn encode(&self, frame: Frame, number: u64) -> Result<EncodedFrame<u64>, String> {
        Ok(match frame {
            Frame::Ask(text) => EncodedFrame { line: format!("? {number} {text}"), role: FrameRole::Request(number) },
            Frame::Answer(key, text) => {
                EncodedFrame { line: format!("= {key} {text}"), role: FrameRole::Answer(key.to_owned()) }
            }
            Frame::Say("unspeakable") => return Err("it cannot be said".to_owned()),
            Frame::Say(text) => EncodedFrame { line: text.to_owned(), role: FrameRole::Message },
        })
    }

    fn decode(&self, line: &[u8]) -> DecodedLine<Self> {
        let line = String::from_utf8_lossy(line).into_owned();
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            ["?", "slow", _] => DecodedLine::Handled("slow".to_owned(), Box::pin(std::future::pending())),
            ["?", "mine", _] => {
                DecodedLine::Handled("mine".to_owned(), Box::pin(async { Frame::Answer("mine", "handled") }))
            }
            ["?", key, _] => DecodedLine::Request(key.to_owned(), line),
            ["=", id, text] => match id.parse() {
                Ok(id) => DecodedLine::Reply(id, text.to_owned()),
                Err(_) => DecodedLine::Nothing,
            },
            ["-", key] => DecodedLine::Withdrawal(key.to_owned(), line),
            _ => DecodedLine::Message(line),
        }
    }
}

async fn link(script: &str) -> (Link<Words>, LinkEvents<Words>) {
    let mut launch = LaunchSpec::new("bash");
    launch.arguments = vec!["-c".into(), script.into()];
    Link::start(&launch, Words, 1000).await.unwrap()
}

async fn message(events: &mut LinkEvents<Words>) -> String {
    match events.next().await {
        Some(LinkEvent::Message(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_reply_to_a_written_request_is_an_event_in_its_place() {
    let (link, mut events) = link(r#"read -r a id rest; echo before; echo "= $id yes"; echo after; read -r"#).await;
    let outbound = link.encode(Frame::Ask("what")).unwrap();
    let id = *outbound.id().unwrap();
    assert_eq!(link.write(outbound).await, Ok(true));
    assert_eq!(message(&mut events).await, "before");
    assert!(matches!(events.next().await, Some(LinkEvent::Reply(of, reply)) if of == id && reply == "yes"));
    assert_eq!(message(&mut events).await, "after");
}

#[tokio::test]
async fn the_reply_to_a_request_is_its_future() {
    let (link, mut events) = link(r#"read -r a id rest; echo noise; echo "= $id yes"; read -r"#).await;
    let reply = link.request(Frame::Ask("what"), Some(Duration::from_secs(20))).await.unwrap();
    assert_eq!(reply.await, Ok("yes".to_owned()));
    assert_eq!(message(&mut events).await, "noise");
}

#[tokio::test]
async fn an_answer_is_written_once_and_not_after_a_withdrawal() {
    let script = r#"echo '? a what'; read -r one; echo "got $one"; echo '? b what'; echo '- b'; read -r two; echo "got $two"; read -r"#;
    let (link, mut events) = link(script).await;
    assert_eq!(message(&mut events).await, "? a what");
    assert_eq!(link.send(Frame::Answer("a", "this")).await, Ok(true));
    assert_eq!(link.send(Frame::Answer("a", "again")).await, Ok(false));
    assert_eq!(message(&mut events).await, "got = a this");
    assert_eq!(message(&mut events).await, "? b what");
    assert_eq!(message(&mut events).await, "- b");
    assert_eq!(link.send(Frame::Answer("b", "late")).await, Ok(false));
    assert_eq!(link.send(Frame::Say("done")).await, Ok(true));
    assert_eq!(message(&mut events).await, "got done", "nothing else was written");
}

#[tokio::test]
async fn a_handled_request_is_answered_in_its_own_task() {
    let script = r#"echo '? slow what'; echo '? mine what'; read -r one; echo "got $one"; echo '- slow'; read -r"#;
    let (_link, mut events) = link(script).await;
    assert_eq!(message(&mut events).await, "got = mine handled");
}

/// Answers every `?` once there is a permit, and counts the answers in progress.
#[derive(Default)]
struct Counting(Arc<Counts>);

struct Counts {
    answering: AtomicUsize,
    most: AtomicUsize,
    permits: tokio::sync::Semaphore,
}

impl Default for Counts {
    fn default() -> Self {
        let permits = tokio::sync::Semaphore::new(0);
        Self { answering: AtomicUsize::new(0), most: AtomicUsize::new(0), permits }
    }
}

impl Codec for Counting {
    type Frame = ();
    type Id = u64;
    type Reply = ();
    type Message = ();

    fn encode(&self, (): (), number: u64) -> Result<EncodedFrame<u64>, String> {
        Ok(EncodedFrame { line: number.to_string(), role: FrameRole::Message })
    }

    fn decode(&self, line: &[u8]) -> DecodedLine<Self> {
        if line != b"?" {
            return DecodedLine::Message(());
        }
        let counts = Arc::clone(&self.0);
        let answering = counts.answering.fetch_add(1, Ordering::AcqRel) + 1;
        counts.most.fetch_max(answering, Ordering::AcqRel);
        let key = answering.to_string();
        DecodedLine::Handled(
            key,
            Box::pin(async move {
                let _permit = counts.permits.acquire().await;
                counts.answering.fetch_sub(1, Ordering::AcqRel);
            }),
        )
    }
}

#[tokio::test]
async fn requests_that_wait_for_their_answers_are_read_no_faster_than_they_are_answered() {
    let mut launch = LaunchSpec::new("bash");
    launch.arguments = vec!["-c".into(), "yes '?' | head -n 50000; echo done; cat > /dev/null".into()];
    let codec = Counting::default();
    let counts = Arc::clone(&codec.0);
    let (_link, mut events) = Link::start(&launch, codec, 1000).await.unwrap();
    let enough = async {
        while counts.answering.load(Ordering::Acquire) < 256 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), enough).await.expect("requests are read");
    counts.permits.add_permits(1);
    assert!(matches!(events.next().await, Some(LinkEvent::Message(()))), "all of them are read in the end");
    let most = counts.most.load(Ordering::Acquire);
    assert_eq!(most, 256, "answers were under way at once");
}

#[tokio::test]
async fn a_handshake_buffers_a_bounded_part_of_a_flood_and_keeps_the_end() {
    let script = r#"read -r a id rest; yes "$(printf '%0900d' 1)" | head -n 5000; echo "= $id yes"; exit 3"#;
    let (link, mut events) = link(script).await;
    let handshake = async {
        let reply = link.request(Frame::Ask("hello"), Some(Duration::from_secs(60))).await;
        reply.unwrap().await
    };
    assert_eq!(events.buffer_during(handshake).await, Ok("yes".to_owned()));
    let mut count = 0;
    let closed = loop {
        match events.next().await {
            Some(LinkEvent::Message(_)) => count += 1,
            Some(LinkEvent::Closed(closed)) => break closed,
            other => panic!("{other:?}"),
        }
    };
    // The last messages may have been read together with the reply.
    assert!((200..1000).contains(&count), "{count} of 5000");
    assert_eq!(closed.exit, Exit::Code(3));
}

#[tokio::test]
async fn a_flood_of_short_lines_during_a_handshake_is_dropped_as_fast_as_it_is_read() {
    let script = r#"read -r a id rest; yes 'a line of 20 letters' | head -n 500000; echo "= $id yes"; read -r"#;
    let (link, mut events) = link(script).await;
    let shared = Arc::clone(&link.shared);
    let handshake = async {
        let reply = link.request(Frame::Ask("hello"), Some(Duration::from_secs(60))).await;
        reply.unwrap().await
    };
    tokio::pin!(handshake);
    let mut most = 0;
    let handshake = std::future::poll_fn(|context| {
        most = most.max(shared.io.budget.unread_events());
        handshake.as_mut().poll(context)
    });
    assert_eq!(events.buffer_during(handshake).await, Ok("yes".to_owned()));
    assert!(most < 2048, "{most} events waited");
}

#[tokio::test]
async fn even_for_a_reply_the_hard_limit_bounds_what_is_read() {
    const LINES: usize = HARD_LIMIT_LINES + 50_000;
    let script = format!(r#"read -r a id rest; yes x | head -n {LINES}; echo "= $id yes"; read -r"#);
    let (link, mut events) = link(&script).await;
    let reply = link.request(Frame::Ask("hello"), Some(Duration::from_secs(60))).await.unwrap();
    let budget = &link.shared.io.budget;
    for _ in 0..5 {
        let exhausted = async {
            while budget.unread_events() < HARD_LIMIT_LINES {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), exhausted).await.expect("lines are read for the reply");
        assert_eq!(budget.unread_events(), HARD_LIMIT_LINES);
        assert_eq!(message(&mut events).await, "x");
    }
    for _ in 5..LINES {
        assert_eq!(message(&mut events).await, "x");
    }
    assert_eq!(reply.await, Ok("yes".to_owned()));
}

#[tokio::test]
async fn a_handshake_drops_neither_requests_nor_events_after_its_reply() {
    let script = r#"read -r a id rest; yes 0 | head -n 20000; echo '? q what'; echo '? w what'; echo '- w'
        yes 0 | head -n 20000; echo "= $id yes"; echo after; read -r line; echo "got $line"; read -r"#;
    let (link, mut events) = link(script).await;
    let handshake = async {
        let reply = link.request(Frame::Ask("hello"), Some(Duration::from_secs(60))).await;
        reply.unwrap().await
    };
    assert_eq!(events.buffer_during(handshake).await, Ok("yes".to_owned()));
    let mut received = Vec::new();
    while received.last().is_none_or(|last| last != "after") {
        let next = timeout(Duration::from_secs(60), message(&mut events)).await.expect("it is not dropped");
        if !next.starts_with('0') {
            received.push(next);
        }
    }
    assert_eq!(received, ["? q what", "? w what", "- w", "after"]);
    assert_eq!(link.send(Frame::Answer("q", "this")).await, Ok(true));
    assert_eq!(message(&mut events).await, "got = q this");
}

#[tokio::test]
async fn a_flood_of_requests_during_a_handshake_is_not_buffered_whole() {
    let script = r#"read -r a id rest; yes '? q what' | head -n 200000; echo "= $id yes"; read -r"#;
    let (link, mut events) = link(script).await;
    let shared = Arc::clone(&link.shared);
    let reply = link.request(Frame::Ask("hello"), Some(Duration::from_secs(60))).await.unwrap();
    let exhausted = async {
        while shared.io.budget.unread_events() < HARD_LIMIT_LINES {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), events.buffer_during(exhausted)).await.expect("it stops taking them");
    for _ in 0..200_000 {
        assert_eq!(message(&mut events).await, "? q what");
    }
    assert_eq!(reply.await, Ok("yes".to_owned()));
}

#[tokio::test]
async fn events_that_were_read_ahead_are_put_back_in_their_order() {
    let (_link, mut events) = link("echo one; echo two; echo three; read -r").await;
    let first = events.next().await;
    let second = events.next().await;
    events.put_back(first.into_iter().chain(second));
    for word in ["one", "two", "three"] {
        assert_eq!(message(&mut events).await, word);
    }
}

#[tokio::test]
async fn a_frame_that_cannot_be_encoded_is_an_error_and_the_link_still_works() {
    let (link, mut events) = link(r#"read -r line; echo "$line"; read -r"#).await;
    assert_eq!(link.send(Frame::Say("unspeakable")).await, Err(LinkError("it cannot be said".into())));
    assert_eq!(link.send(Frame::Say("fine")).await, Ok(true));
    assert_eq!(message(&mut events).await, "fine");
}

#[tokio::test]
async fn only_marked_lines_of_standard_error_are_events() {
    let script = "echo noise >&2; echo '! one' >&2; read -r; seq 1 100000 >&2; echo '! two' >&2; read -r; exit 3";
    let mut launch = LaunchSpec::new("bash");
    launch.arguments = vec!["-c".into(), script.into()];
    launch.stderr_marker = Some("!".to_owned());
    let (link, mut events) = Link::start(&launch, Words, 1000).await.unwrap();
    for expected in ["! one", "! two"] {
        assert!(matches!(events.next().await, Some(LinkEvent::Stderr(line)) if line == expected));
        link.send(Frame::Say("next")).await.unwrap();
    }
    assert!(matches!(events.next().await, Some(LinkEvent::Closed(closed)) if closed.exit == Exit::Code(3)));
}

#[tokio::test]
async fn marked_lines_right_before_the_end_are_events() {
    let mut launch = LaunchSpec::new("bash");
    launch.arguments = vec!["-c".into(), "echo '! last' >&2; exit 3".into()];
    launch.stderr_marker = Some("!".to_owned());
    for _ in 0..20 {
        let (_link, mut events) = Link::start(&launch, Words, 1000).await.unwrap();
        assert!(matches!(events.next().await, Some(LinkEvent::Stderr(line)) if line == "! last"));
        assert!(matches!(events.next().await, Some(LinkEvent::Closed(closed)) if closed.exit == Exit::Code(3)));
    }
}

#[tokio::test]
async fn a_flood_of_marked_lines_does_not_block_the_program_and_is_bounded() {
    let mut launch = LaunchSpec::new("bash");
    launch.arguments = vec!["-c".into(), "seq 1 200000 >&2; exit 3".into()];
    launch.stderr_marker = Some(String::new());
    let (link, mut events) = Link::start(&launch, Words, 1000).await.unwrap();
    assert_eq!(link.end_reason("nothing").await, LinkError("it exited with 3: 200000".into()));
    let mut count = 0;
    while let Some(event) = events.next().await {
        count += usize::from(matches!(event, LinkEvent::Stderr(_)));
    }
    assert!(count <= 256, "{count} lines were kept");
}

/// Returns a link to a task that repeats each line of its input, and exits with 7 after the line `exit`.
fn task_link() -> (Link<Words>, LinkEvents<Words>) {
    Link::with_task(Words, 1000, |pipes: TaskPipes| async move {
        let mut lines = LineReader::new(pipes.input, 1000);
        let output = LineWriter::new(pipes.output);
        loop {
            match lines.next().await {
                Ok(Some(Line::Complete(b"exit"))) => return Exit::Code(7),
                Ok(Some(Line::Complete(b"hang"))) => std::future::pending().await,
                Ok(Some(Line::Complete(line))) => output.line(line.to_vec()).await.unwrap(),
                _ => return Exit::Code(0),
            }
        }
    })
    .unwrap()
}

#[tokio::test]
async fn a_task_serves_a_link_like_a_program() {
    let (link, mut events) = task_link();
    link.send(Frame::Say("one")).await.unwrap();
    assert_eq!(message(&mut events).await, "one");
    link.send(Frame::Say("exit")).await.unwrap();
    let Some(LinkEvent::Closed(closed)) = events.next().await else { panic!("the task has exited") };
    assert_eq!((closed.exit, closed.requested), (Exit::Code(7), false));
    assert!(events.next().await.is_none());

    let (link, mut events) = task_link();
    link.close();
    let Some(LinkEvent::Closed(closed)) = events.next().await else { panic!("the task has exited") };
    assert_eq!((closed.exit, closed.requested), (Exit::Code(0), true));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ignores_the_end_of_its_input_is_aborted() {
    let (link, mut events) = task_link();
    link.send(Frame::Say("hang")).await.unwrap();
    link.close();
    let Some(LinkEvent::Closed(closed)) = events.next().await else { panic!("the task was aborted") };
    assert_eq!((closed.exit, closed.requested), (Exit::Unknown, true));
}
