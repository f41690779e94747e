//! Meaning of each atom and operator.

use std::cell::Cell;

use super::*;

/// Facts that count the reads of the screen's text.
#[derive(Debug)]
pub(super) struct FixedFacts {
    pub(super) message_count: u64,
    pub(super) reasoning_active: bool,
    pub(super) pending_operations: u64,
    pub(super) frames: u64,
    pub(super) cursor: Option<(u16, u16)>,
    pub(super) title: Option<String>,
    pub(super) exited: bool,
    pub(super) screen: String,
    pub(super) quiet_for: Duration,
    pub(super) screen_reads: Cell<usize>,
}

impl Default for FixedFacts {
    fn default() -> Self {
        Self {
            message_count: 5,
            reasoning_active: false,
            pending_operations: 0,
            frames: 7,
            cursor: Some((3, 1)),
            title: Some("vim: notes.md".to_owned()),
            exited: false,
            screen: "$ ls -l\ntotal 0\n\nReady \"now\" \\o/ Élan".to_owned(),
            quiet_for: Duration::from_millis(500),
            screen_reads: Cell::new(0),
        }
    }
}

impl Facts for FixedFacts {
    fn message_count(&self) -> u64 {
        self.message_count
    }
    fn reasoning_active(&self) -> bool {
        self.reasoning_active
    }
    fn busy(&self) -> bool {
        self.pending_operations > 0
    }

    fn pending_operations(&self) -> u64 {
        self.pending_operations
    }
    fn frames(&self) -> u64 {
        self.frames
    }
    fn cursor(&self) -> Option<(u16, u16)> {
        self.cursor
    }
    fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }
    fn exited(&self) -> bool {
        self.exited
    }
    fn screen_text(&self) -> &str {
        self.screen_reads.set(self.screen_reads.get() + 1);
        &self.screen
    }
    fn quiet_for(&self) -> Duration {
        self.quiet_for
    }
}

fn condition(source: &str) -> Condition {
    Condition::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"))
}

#[track_caller]
fn hold(facts: &FixedFacts, sources: &[&str]) {
    for source in sources {
        assert!(condition(source).holds(facts), "{source} should hold");
    }
}

#[track_caller]
fn fail(facts: &FixedFacts, sources: &[&str]) {
    for source in sources {
        assert!(!condition(source).holds(facts), "{source} should not hold");
    }
}

#[test]
fn counts_are_compared() {
    let facts = FixedFacts::default();
    hold(
        &facts,
        &[
            "message_count > 4",
            "message_count >= 5",
            "message_count < 6",
            "message_count <= 5",
            "message_count == 5",
            "message_count = 5",
            "message_count != 4",
            "message_count>4",
            "frames > 6",
            "frames == 7",
            "frames < 18446744073709551615",
        ],
    );
    fail(
        &facts,
        &[
            "message_count > 5",
            "message_count >= 6",
            "message_count < 5",
            "message_count <= 4",
            "message_count == 6",
            "message_count != 5",
            "frames > 7",
        ],
    );
}

#[test]
fn the_screen_is_searched_for_a_text() {
    let facts = FixedFacts::default();
    hold(
        &facts,
        &[
            r#"screen_contains "Ready""#,
            r"screen_contains 'ls -l'",
            r#"screen_contains "Ready \"now\"""#,
            r#"screen_contains 'Ready "now"'"#,
            r#"screen_contains "\\o\/""#,
            r#"screen_contains "-l\ntotal""#,
            "screen_contains \"-l\ntotal\"",
            r#"screen_contains "\u00c9lan""#,
            r#"screen_contains"total""#,
        ],
    );
    fail(&facts, &[r#"screen_contains "ready""#, r"screen_contains 'total 0 '"]);

    let emoji = FixedFacts { screen: "it's 🙂".to_owned(), ..FixedFacts::default() };
    hold(&emoji, &[r#"screen_contains "\ud83d\ude42""#, r"screen_contains 'it\'s'"]);
}

#[test]
fn the_screen_is_matched_against_a_pattern() {
    let facts = FixedFacts::default();
    hold(
        &facts,
        &[
            "screen_matches /total \\d/",
            "screen_matches /READY/i",
            "screen_matches /^total 0$/m",
            "screen_matches /ls.*total/s",
            "screen_matches / r e a d y /xi",
            r"screen_matches /\\o\//",
            "screen_matches /^\\$ ls/ and exited or frames > 1",
        ],
    );
    fail(
        &facts,
        &["screen_matches /READY/", "screen_matches /^total/", "screen_matches /-l$/", "screen_matches /ls.*total/"],
    );
}

#[test]
fn the_other_facts_are_asked_for() {
    let facts = FixedFacts::default();
    hold(
        &facts,
        &[
            "cursor_at 3,1",
            "cursor_at 3 , 1",
            "title_contains \"vim\"",
            "not exited",
            "reasoning_complete",
            "no_pending_operations",
            "idle",
            "screen_stable 500",
            "screen_stable 0",
            "screen_stable 499ms",
        ],
    );
    fail(
        &facts,
        &[
            "cursor_at 1,3",
            "title_contains 'emacs'",
            "exited",
            "question",
            "reasoning_active",
            "screen_stable 501",
            "screen_stable 1s",
            "screen_stable 1 s",
        ],
    );
    let facts =
        FixedFacts { cursor: None, title: None, exited: true, reasoning_active: true, pending_operations: 1, ..facts };
    hold(&facts, &["exited", "reasoning_active", "question"]);
    fail(&facts, &["cursor_at 3,1", "title_contains 'vim'", "reasoning_complete", "no_pending_operations", "idle"]);
}

#[test]
fn a_conversation_only_atom_is_found_at_any_position() {
    for (source, found) in [
        ("exited or not (frames > 1 and idle)", Some("idle")),
        ("question", Some("question")),
        ("screen_stable 1 and No_Pending_Operations and idle", Some("no_pending_operations")),
        ("reasoning_complete and message_count > 0 and exited", None),
    ] {
        assert_eq!(Condition::parse(source).unwrap().conversation_only(), found, "{source}");
    }
}

#[test]
fn not_binds_before_and_and_and_before_or() {
    for (source, canonical) in [
        ("exited or exited and exited", "exited or exited and exited"),
        ("(exited or frames>1) and exited", "(exited or frames > 1) and exited"),
        ("not exited and exited", "not exited and exited"),
        ("not (exited and exited)", "not (exited and exited)"),
        ("! ! exited", "not not exited"),
        ("!(exited||exited)&&!exited", "not (exited or exited) and not exited"),
        ("EXITED And NOT Exited OR Frames = 1", "exited and not exited or frames == 1"),
        ("((((exited))))", "exited"),
        ("exited and (exited and (exited))", "exited and exited and exited"),
        ("(exited or exited) or exited", "exited or exited or exited"),
        ("screen_stable 2s", "screen_stable 2000ms"),
        ("screen_contains 'a\"\u{1}\u{9b}é'", r#"screen_contains "a\"\u0001\u009bé""#),
        (r"screen_matches /a\/[\/]\\/smi", r"screen_matches /a\/[\/]\\/ims"),
        ("cursor_at 007,0", "cursor_at 7,0"),
    ] {
        let read = condition(source);
        assert_eq!(read.to_string(), canonical, "{source}");
        assert_eq!(condition(canonical), read, "{source}");
    }
}

#[test]
fn equal_means_written_alike() {
    assert_eq!(condition("frames=1"), condition("FRAMES == 1"));
    assert_eq!(condition("screen_matches /a/im"), condition("screen_matches /a/mi"));
    assert_ne!(condition("screen_matches /a/"), condition("screen_matches /a/i"));
    assert_ne!(condition("reasoning_complete"), condition("not reasoning_active"));
}

#[test]
fn the_screen_is_looked_at_only_if_the_answer_depends_on_it() {
    for (source, needs, looks) in [
        ("message_count > 1", false, 0),
        ("screen_contains 'Ready'", true, 1),
        ("exited and screen_contains 'Ready'", true, 0),
        ("frames > 1 or screen_matches /Ready/", true, 0),
        ("screen_stable 1 and not (exited or screen_matches /x/)", true, 1),
    ] {
        let facts = FixedFacts::default();
        let condition = condition(source);
        assert_eq!(condition.needs_screen(), needs, "{source}");
        let _ = condition.holds(&facts);
        assert_eq!(facts.screen_reads.get(), looks, "{source}");
    }
}

#[test]
fn time_alone_matters_up_to_the_last_threshold() {
    let milliseconds = Duration::from_millis;
    let stable = condition("screen_stable 2s or not (exited and screen_stable 500)");
    assert!(stable.needs_stability());
    assert_eq!(stable.next_change(Duration::ZERO), Some(milliseconds(500)));
    assert_eq!(stable.next_change(milliseconds(499)), Some(milliseconds(500)));
    assert_eq!(stable.next_change(milliseconds(500)), Some(milliseconds(2000)));
    assert_eq!(stable.next_change(milliseconds(2000)), None);

    assert!(condition("screen_stable 0").needs_stability());
    assert_eq!(condition("screen_stable 0").next_change(Duration::ZERO), None);
    assert!(!condition("exited").needs_stability());
    assert_eq!(condition("exited").next_change(Duration::ZERO), None);
}
