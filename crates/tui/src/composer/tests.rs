//! Tests of the composer: gestures in, text and cells out.

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::widgets::Widget;
use unicode_segmentation::UnicodeSegmentation;
use wh_core::input::Gesture;

use super::*;
use crate::theme::Theme;

fn key(name: &str) -> Gesture {
    Gesture::Key(name.parse().unwrap_or_else(|error| panic!("{error}")))
}

fn typed(text: &str) -> Composer {
    let mut composer = Composer::new();
    composer.handle(&Gesture::Text(text.to_owned()));
    composer
}

impl Composer {
    fn press(&mut self, names: &str) -> ComposerOutcome {
        names.split_whitespace().map(|name| self.handle(&key(name))).last().expect("at least one key")
    }

    /// The visible text, with chips as their labels.
    fn shown(&self) -> String {
        let content = self.text.content();
        content.chars().map(|character| self.chips.label(character).unwrap_or_else(|| character.to_string())).collect()
    }

    /// The text with `|` at the caret.
    fn state(&self) -> String {
        format!("{}|{}", self.text.before(), self.text.after())
    }
}

#[track_caller]
fn check(start: &str, keys: &str, end: &str) {
    let mut composer = typed(start);
    composer.press(keys);
    assert_eq!(composer.state(), end, "{start:?} {keys}");
}

fn drawn(composer: &mut Composer, width: u16, most: u16) -> (Vec<String>, Option<Position>, Buffer) {
    let height = composer.fit(width, most);
    let area = Rect::new(0, 0, width, height);
    let theme = Theme::colourless();
    let view = ComposerView { composer, theme: &theme, placeholder: "Say something", focused: true };
    let cursor = view.cursor(area);
    let mut buffer = Buffer::empty(area);
    view.render(area, &mut buffer);
    (rows(&buffer), cursor, buffer)
}

fn rows(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let row = |y| {
        let mut text = String::new();
        let mut skip = 0;
        for x in area.left()..area.right() {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                text.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol).max(1);
            }
            skip -= 1;
        }
        text.trim_end().to_owned()
    };
    (area.top()..area.bottom()).map(row).collect()
}

#[test]
fn enter_sends_and_empties() {
    let mut composer = typed("hello");
    assert_eq!(composer.press("enter"), ComposerOutcome::Submit("hello".to_owned()));
    assert!(composer.is_empty());
    assert_eq!(composer.press("enter"), ComposerOutcome::Ignored);
    assert_eq!(typed(" \n").press("enter"), ComposerOutcome::Ignored);
}

#[test]
fn a_new_line_has_several_keys() {
    for name in ["shift+enter", "alt+enter", "ctrl+j"] {
        check("a", name, "a\n|");
    }
    check("a\\", "enter", "a\n|");
    let mut composer = typed("a\\b");
    assert!(matches!(composer.press("enter"), ComposerOutcome::Submit(_)));
}

#[test]
fn the_caret_moves_by_graphemes() {
    check("e\u{301}👩‍👩‍👧日", "left left", "e\u{301}|👩‍👩‍👧日");
    check("e\u{301}👩‍👩‍👧", "backspace backspace", "|");
    check("🇩🇪x", "home delete", "|x");
    check("ab", "left left left right", "a|b");
}

#[test]
fn words_and_lines_have_their_keys() {
    check("one two-three", "ctrl+left", "one two-|three");
    check("one two", "alt+left alt+left", "|one two");
    check("one two", "home ctrl+right", "one| two");
    check("one  two", "home alt+f alt+right", "one  two|");
    check("a\nbcd\ne", "up home", "a\n|bcd\ne");
    check("a\nbcd\ne", "up ctrl+e", "a\nbcd|\ne");
    check("a\nbcd", "ctrl+a ctrl+home", "|a\nbcd");
}

#[test]
fn up_and_down_keep_the_column() {
    check("long line\nx\nanother one", "up up", "long line|\nx\nanother one");
    check("日本語\nabcdef\nx", "up end up", "日本語|\nabcdef\nx");
    check("日本語\nabcdef", "left up down", "日本語\nabcde|f");
    let mut composer = typed("abcdefghij");
    // The prompt and the caret's column leave six columns.
    composer.fit(9, 5);
    composer.press("up");
    assert_eq!(composer.state(), "abcd|efghij");
    composer.press("down");
    assert_eq!(composer.state(), "abcdefghij|");
}

#[test]
fn a_cut_can_be_yanked() {
    check("one two", "ctrl+w ctrl+y ctrl+y", "one twotwo|");
    check("one two", "home ctrl+k ctrl+y", "one two|");
    check("one two three", "ctrl+w ctrl+w ctrl+y", "one two three|");
    check("a-b c", "left left alt+backspace", "a-| c");
    check("a/b c/d", "ctrl+w", "a/b |");
    check("a\nbc", "ctrl+u", "a\n|");
    check("a\nbc", "ctrl+u ctrl+u", "a|");
    check("a\nb", "up ctrl+k", "a|b");
    check("one two", "home alt+d", "| two");
    check("one two", "ctrl+w left ctrl+u ctrl+y alt+y", "two| ");
    assert_eq!(typed("a").press("ctrl+y"), ComposerOutcome::Ignored);
    assert_eq!(typed("a").press("alt+y"), ComposerOutcome::Ignored);
}

#[test]
fn edits_can_be_undone_and_redone() {
    let mut composer = Composer::new();
    for piece in ["h", "i", " ", "y", "o", "u"] {
        composer.insert(piece);
    }
    composer.press("ctrl+z");
    assert_eq!(composer.state(), "hi|");
    composer.press("ctrl+_");
    assert_eq!(composer.state(), "|");
    assert_eq!(composer.press("ctrl+z"), ComposerOutcome::Ignored);
    composer.press("ctrl+shift+z ctrl+shift+z");
    assert_eq!(composer.state(), "hi you|");
    composer.press("backspace backspace ctrl+z");
    assert_eq!(composer.state(), "hi you|");
    composer.clear();
    composer.press("ctrl+z");
    assert_eq!(composer.state(), "hi you|");
}

#[test]
fn history_can_be_recalled_and_the_draft_survives() {
    let mut composer = Composer::new();
    for sent in ["first", "second"] {
        composer.insert(sent);
        composer.press("enter");
    }
    composer.insert("draft");
    composer.press("up");
    assert_eq!(composer.state(), "second|");
    composer.press("up");
    assert_eq!(composer.state(), "first|");
    assert_eq!(composer.press("up"), ComposerOutcome::Ignored);
    composer.insert("!");
    composer.press("down");
    assert_eq!(composer.state(), "second|");
    composer.press("up");
    assert_eq!(composer.state(), "first!|");
    composer.press("down down");
    assert_eq!(composer.state(), "draft|");
    assert_eq!(composer.press("down"), ComposerOutcome::Ignored);
    composer.press("enter up");
    assert_eq!(composer.state(), "draft|");
    composer.press("up up");
    assert_eq!(composer.state(), "first|");
}

#[test]
fn recall_begins_at_the_first_row_only() {
    let mut composer = typed("old");
    composer.press("enter");
    composer.insert("a\nb");
    composer.press("up");
    assert_eq!(composer.state(), "a|\nb");
    composer.press("up");
    assert_eq!(composer.state(), "old|");
}

#[test]
fn ctrl_d_deletes_and_is_ignored_in_an_empty_composer() {
    check("ab", "home ctrl+d", "|b");
    assert_eq!(Composer::new().press("ctrl+d"), ComposerOutcome::Ignored);
    assert_eq!(Composer::new().press("tab"), ComposerOutcome::Ignored);
    assert_eq!(Composer::new().press("escape"), ComposerOutcome::Ignored);
    assert_eq!(Composer::new().press("up"), ComposerOutcome::Ignored);
}

#[test]
fn a_large_paste_is_a_chip_until_it_is_sent() {
    let large: String = (1..=42).map(|line| format!("line {line}\r\n")).collect();
    let mut composer = typed("see ");
    composer.handle(&Gesture::Paste(large.clone()));
    composer.insert(" ok");
    assert_eq!(composer.shown(), "see [paste #1: 42 lines] ok");
    composer.press("left left left left");
    composer.press("delete");
    assert_eq!(composer.shown(), "see  ok");
    composer.press("ctrl+z");
    composer.handle(&Gesture::Paste("x".repeat(1500)));
    assert_eq!(composer.shown(), "see [paste #2: 1500 characters][paste #1: 42 lines] ok");
    let expected = format!("see {}{} ok", "x".repeat(1500), large.replace("\r\n", "\n"));
    assert_eq!(composer.press("enter"), ComposerOutcome::Submit(expected));
    composer.press("up");
    assert_eq!(composer.shown(), "see [paste #2: 1500 characters][paste #1: 42 lines] ok");
}

#[test]
fn a_small_paste_is_text_and_controls_are_left_out() {
    let mut composer = Composer::new();
    composer.handle(&Gesture::Paste("a\r\nb\rc\td\x1b[31m\u{f0000}".to_owned()));
    assert_eq!(composer.text(), "a\nb\nc\td[31m\u{fffd}");
}

fn commands() -> Vec<CompletionCandidate> {
    vec![
        CompletionCandidate::new("help", "lists the commands"),
        CompletionCandidate::new("theme", "dark, light, none"),
        CompletionCandidate::new("exit", ""),
    ]
}

#[test]
fn a_command_is_completed_with_tab() {
    let mut composer = typed("/he");
    composer.offer(&commands());
    let values: Vec<&str> = composer.completion().unwrap().candidates().iter().map(|one| one.value.as_str()).collect();
    assert_eq!(values, ["help", "theme"]);
    composer.press("tab");
    assert_eq!(composer.state(), "/help |");
    assert_eq!(composer.completion(), None);
    composer.press("ctrl+z");
    assert_eq!(composer.state(), "/he|");
}

#[test]
fn enter_completes_a_command_that_is_not_written_out() {
    let mut composer = typed("/he");
    composer.offer(&commands());
    composer.press("down");
    composer.offer(&commands());
    assert_eq!(composer.press("enter"), ComposerOutcome::Changed);
    assert_eq!(composer.state(), "/theme |");
    let mut composer = typed("/help");
    composer.offer(&commands());
    assert_eq!(composer.press("enter"), ComposerOutcome::Submit("/help".to_owned()));
}

#[test]
fn a_word_with_an_at_is_sent_unless_a_file_was_chosen() {
    let files = [CompletionCandidate::new("src/bob.rs", ""), CompletionCandidate::new("docs/", "")];
    let mut composer = typed("ask @bob");
    composer.offer(&files);
    assert_eq!(composer.press("enter"), ComposerOutcome::Submit("ask @bob".to_owned()));
    let mut composer = typed("ask @");
    composer.offer(&files);
    composer.press("down enter");
    assert_eq!(composer.state(), "ask @docs/|");
    composer.offer(&files);
    composer.press("backspace");
    composer.offer(&files);
    composer.press("up up enter");
    assert_eq!(composer.state(), "ask @docs/|");
}

#[test]
fn escape_closes_the_list_until_another_word_begins() {
    let mut composer = typed("/he");
    composer.offer(&commands());
    assert_eq!(composer.press("escape"), ComposerOutcome::Changed);
    composer.insert("l");
    assert_eq!(composer.token(), None);
    composer.insert(" @");
    assert_eq!(composer.token().map(|token| token.kind), Some(TokenKind::File));
}

#[test]
fn only_the_first_word_is_a_command_and_an_at_within_a_word_is_none() {
    assert_eq!(typed("a /he").token(), None);
    let token = typed(" /he").token().unwrap();
    assert_eq!((token.kind, token.start, token.query.as_str()), (TokenKind::Command, 1, "he"));
    assert_eq!(typed("me@example").token(), None);
    let token = typed("/help x").token().unwrap();
    assert_eq!((token.kind, token.start, token.query.as_str()), (TokenKind::Argument, 6, "x"));
    let token = typed("/help ").token().unwrap();
    assert_eq!((token.kind, token.start, token.end), (TokenKind::Argument, 6, 6));
    let token = typed("a\n@sr").token().unwrap();
    assert_eq!((token.start, token.end, token.query.as_str()), (2, 5, "sr"));
    let mut composer = typed("@src");
    composer.press("home");
    assert_eq!(composer.token(), None);
}

#[test]
fn an_empty_composer_shows_its_placeholder() {
    let (rows, cursor, buffer) = drawn(&mut Composer::new(), 20, 5);
    assert_eq!(rows, ["❯ Say something"]);
    assert_eq!(cursor, Some(Position::new(2, 0)));
    assert!(buffer[(2, 0)].modifier.contains(Modifier::REVERSED | Modifier::DIM));
    assert!(!buffer[(3, 0)].modifier.contains(Modifier::REVERSED));
}

#[test]
fn wide_characters_wrap_and_carry_the_caret() {
    let (rows, cursor, buffer) = drawn(&mut typed("日本語日本語"), 10, 5);
    assert_eq!(rows, ["❯ 日本語", "  日本語"]);
    assert_eq!(cursor, Some(Position::new(8, 1)));
    assert!(buffer[(8, 1)].modifier.contains(Modifier::REVERSED));
}

#[test]
fn a_long_text_scrolls_with_the_caret() {
    let mut composer = typed("1\n2\n3\n4\n5");
    assert_eq!(drawn(&mut composer, 10, 3).0, ["  3", "  4", "  5"]);
    composer.press("up");
    assert_eq!(drawn(&mut composer, 10, 3).0, ["  3", "  4", "  5"]);
    composer.press("up up up");
    assert_eq!(drawn(&mut composer, 10, 3).0, ["❯ 1", "  2", "  3"]);
    let (_, cursor, _) = drawn(&mut composer, 10, 3);
    assert_eq!(cursor, Some(Position::new(3, 0)));
}

#[test]
fn a_chip_is_drawn_as_one_thing() {
    let mut composer = typed("ab ");
    composer.paste(&"x\n".repeat(20));
    assert_eq!(drawn(&mut composer, 40, 3).0, ["❯ ab [paste #1: 20 lines]"]);
    assert_eq!(drawn(&mut composer, 20, 3).0, ["❯ ab", "  [paste #1: 20 li…"]);
}

#[test]
fn a_ghost_stands_behind_the_text() {
    let mut composer = typed("/theme ");
    composer.set_ghost("dark|light|none");
    assert_eq!(drawn(&mut composer, 40, 3).0, ["❯ /theme dark|light|none"]);
    composer.insert("d");
    assert_eq!(drawn(&mut composer, 40, 3).0, ["❯ /theme d"]);
}

#[test]
fn the_list_stands_above_the_composer() {
    let mut composer = typed("/");
    composer.offer(&commands());
    composer.press("down");
    let theme = Theme::colourless();
    let view = CompletionView { completion: composer.completion().unwrap(), theme: &theme };
    let bounds = Rect::new(0, 0, 40, 10);
    let area = view.area(Rect::new(0, 8, 40, 1), bounds);
    assert_eq!(area, Rect::new(0, 3, 30, 5));
    assert!(view.area(Rect::new(0, 2, 40, 1), bounds).is_empty());
    let mut buffer = Buffer::empty(bounds);
    view.render(area, &mut buffer);
    assert_eq!(
        rows(&buffer)[3..8],
        [
            "╭────────────────────────────╮",
            "│ /help   lists the commands │",
            "│ /theme  dark, light, none  │",
            "│ /exit                      │",
            "╰────────────────────────────╯",
        ]
    );
    assert!(buffer[(2, 5)].modifier.contains(Modifier::REVERSED));
}

fn any_gesture() -> impl Strategy<Value = Gesture> {
    let keys = [
        "left",
        "right",
        "up",
        "down",
        "home",
        "end",
        "backspace",
        "delete",
        "ctrl+left",
        "ctrl+right",
        "ctrl+k",
        "ctrl+u",
        "ctrl+w",
        "ctrl+y",
        "alt+y",
        "ctrl+z",
        "alt+z",
        "alt+backspace",
        "alt+d",
        "shift+enter",
        "enter",
        "tab",
        "escape",
    ];
    prop_oneof![
        4 => proptest::sample::select(keys.to_vec()).prop_map(key),
        2 => "[a@/ \\\\\n\u{301}日👩\u{200d}]{1,4}".prop_map(Gesture::Text),
        1 => any::<String>().prop_map(Gesture::Text),
        1 => "[a\n\u{301}]{0,20}".prop_map(Gesture::Paste),
        1 => Just(Gesture::Paste("x\n".repeat(12))),
    ]
}

proptest! {
    #[test]
    fn the_caret_is_always_between_characters_and_on_the_screen(
        gestures in proptest::collection::vec(any_gesture(), 0..40), width in 0u16..30, most in 0u16..5,
    ) {
        let mut composer = Composer::new();
        for gesture in &gestures {
            let before = composer.state();
            let outcome = composer.handle(gesture);
            if outcome == ComposerOutcome::Ignored {
                prop_assert_eq!(composer.state(), before);
            }
            composer.offer(&commands());
            let (content, caret) = (composer.text.content(), composer.text.caret());
            let boundary = content.grapheme_indices(true).any(|(offset, _)| offset == caret) || caret == content.len();
            prop_assert!(boundary, "{:?} at {}", content, caret);
            let (_, cursor, _) = drawn(&mut composer, width, most);
            prop_assert!(cursor.is_some() || width < 5, "{:?}", composer.state());
        }
    }

    #[test]
    fn undo_leads_back_to_the_beginning(gestures in proptest::collection::vec(any_gesture(), 0..30)) {
        let mut composer = Composer::new();
        let other = ["enter", "ctrl+z", "alt+z"].map(key);
        for gesture in gestures.iter().filter(|gesture| !other.contains(gesture)) {
            composer.handle(gesture);
        }
        let end = composer.text();
        while composer.press("ctrl+z") == ComposerOutcome::Changed {}
        prop_assert_eq!(composer.text(), "");
        while composer.press("alt+z") == ComposerOutcome::Changed {}
        prop_assert_eq!(composer.text(), end);
    }
}
