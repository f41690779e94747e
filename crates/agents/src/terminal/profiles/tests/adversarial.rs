//! Texts of a model, of tools and of the user that look like the agent's own UI.

use std::sync::Arc;

use wh_screen::frame::{Cell, ScreenRow};

use super::super::super::reading::ComposerMatch;
use super::super::{CLAUDE, CODEX, GEMINI};
use super::*;

/// Screens whose conversation prints a dialog or a composer, above the real, empty composer.
#[test]
fn a_printed_dialog_or_composer_is_not_taken_for_the_real_one() {
    let printed = [
        (&CLAUDE, "said-dialog-100x32"),
        (&CLAUDE, "said-composer-100x32"),
        (&CLAUDE, "fake-composer-100x32"),
        (&CODEX, "said-dialog-100x32"),
        (&CODEX, "said-composer-100x32"),
        (&CODEX, "fake-dialog-100x32"),
        (&CODEX, "fake-composer-100x32"),
        (&GEMINI, "fake-dialog-100x32"),
        (&GEMINI, "fake-composer-100x32"),
    ];
    for (profile, name) in printed {
        assert!(composer(profile, name).is_empty(), "{name}");
    }
}

/// A page of another program in the terminal, for example an editor with a copy of the agent's screen.
#[test]
fn a_copy_of_a_screen_without_its_cursor_is_no_composer_and_no_dialog() {
    for profile in [&CLAUDE, &CODEX] {
        for scene in ["idle", "draft", "permission"] {
            let frame = screen(profile.id, &format!("{scene}-100x32"));
            let mut copy = frame.clone();
            copy.cursor.y = 0;
            copy.cursor.x = 0;
            let rows = copy.rows.iter().map(|row| {
                let mut cells = row.to_vec();
                cells.iter_mut().for_each(|cell| cell.style.inverse = false);
                Arc::new(ScreenRow::new(cells))
            });
            copy.rows = rows.collect();
            let place = profile.read_screen(&copy).place;
            let known = matches!(place, ScreenPlace::Composer(_))
                || (profile.id == "claude" && matches!(place, ScreenPlace::Dialog(_)));
            assert!(!known, "{} {scene}: {place:?}", profile.id);
        }
    }
}

/// The text of a model is indented, and never begins at the first column.
#[test]
fn an_answer_at_the_end_of_the_screen_is_unrecognised() {
    let dialog =
        "\u{25cf} Here is it:\r\n  Do you want to proceed?\r\n  \u{276f} 1. Yes\r\n    2. No\r\n\r\n  Esc to cancel";
    let composer = format!("● Look:\r\n  {rule}\r\n  ❯\u{a0}\r\n  {rule}\r\n", rule = "─".repeat(78));
    for text in [dialog, composer.as_str()] {
        for profile in [&CLAUDE, &CODEX, &GEMINI] {
            let place = profile.read_screen(&drawn(text.as_bytes(), 80, 24)).place;
            assert_eq!(place, ScreenPlace::Unrecognised, "{}: {text}", profile.id);
        }
    }
}

/// A screen that is drawn only in part must not be read as a complete one.
#[test]
fn a_part_of_a_screen_is_never_an_empty_composer_if_the_whole_has_a_draft_or_a_dialog() {
    for profile in [&CLAUDE, &CODEX, &GEMINI] {
        for scene in ["draft", "draft-lines", "permission", "permission-long", "working-draft"] {
            let name = format!("{scene}-100x32");
            let frame = screen(profile.id, &name);
            for cut in 1..frame.rows.len() {
                let mut part = frame.clone();
                for row in &mut part.rows[cut..] {
                    *row = Arc::new(ScreenRow::new(vec![Cell::BLANK; 100]));
                }
                if let ScreenPlace::Composer(composer) = profile.read_screen(&part).place {
                    assert!(!composer.is_empty(), "{} {name} cut at row {cut}", profile.id);
                }
            }
        }
    }
}

#[test]
fn a_screen_of_one_agent_is_no_composer_of_another() {
    for profile in [&CLAUDE, &CODEX, &GEMINI] {
        for other in [&CLAUDE, &CODEX, &GEMINI].into_iter().filter(|other| other.id != profile.id) {
            for name in names(other.id) {
                let place = profile.read_screen(&screen(other.id, &name)).place;
                let taken = matches!(place, ScreenPlace::Composer(_) | ScreenPlace::Dialog(_));
                assert!(!taken, "{} reads {} {name} as {place:?}", profile.id, other.id);
            }
        }
    }
}

#[test]
fn a_draft_that_looks_like_options_is_a_draft() {
    let rule = "─".repeat(80);
    let draft = "1. Yes\r\n  2. No\r\n\r\n  Do you want to proceed?";
    let frame = format!("{rule}\r\n❯\u{a0}{draft}\x1b[7m \x1b[0m\r\n{rule}\r\n  ? for shortcuts\x1b[5;26H");
    match CLAUDE.read_screen(&drawn(frame.as_bytes(), 80, 24)).place {
        ScreenPlace::Composer(composer) => {
            assert_eq!(composer.holds("1. Yes\n2. No\n\nDo you want to proceed?"), ComposerMatch::Whole);
        }
        other => panic!("{other:?}"),
    }
}
