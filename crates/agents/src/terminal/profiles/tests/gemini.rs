use wh_core::input::KeyCode;
use wh_core::space::question::OptionMeaning;

use super::super::super::profile::{PromptForm, TitleReading, plain};
use super::super::super::reading::{ComposerMatch, ComposerMode, DialogKind, PastedSize};
use super::super::GEMINI;
use super::*;

#[test]
fn an_empty_composer_holds_no_ghost_text() {
    for name in [sizes("gemini", "idle"), sizes("gemini", "working")].concat() {
        assert!(composer(&GEMINI, &name).is_empty(), "{name}");
    }
    assert!(composer(&GEMINI, "answered-100x32").is_empty());
    assert!(composer(&GEMINI, "shell-empty-100x32").is_empty());
}

#[test]
fn a_draft_is_read_in_any_size() {
    assert_eq!(composer(&GEMINI, "draft-100x32").text, ["hello draft"]);
    let text = format!("hello draft first\nsecond line {}\nthird", "word ".repeat(40));
    for name in sizes("gemini", "draft-lines") {
        assert_eq!(composer(&GEMINI, &name).holds(&text), ComposerMatch::Whole, "{name}");
    }
    assert_eq!(composer(&GEMINI, "working-draft-100x32").text, ["draft while"]);
}

#[test]
fn a_composer_that_scrolls_shows_the_end_of_its_text() {
    let text: String = (0..8).map(|number| format!("scroll line {number}\n more {number}\n")).collect();
    for name in sizes("gemini", "draft-scroll") {
        let reading = composer(&GEMINI, &name);
        assert!(reading.may_scroll, "{name}");
        assert_eq!(reading.holds(&text), ComposerMatch::Whole, "{name}");
    }
}

#[test]
fn a_long_paste_is_a_placeholder() {
    let text: Vec<String> = (0..90).map(|number| format!("long line {number} and more")).collect();
    let reading = composer(&GEMINI, "pasted-100x32");
    assert_eq!(reading.pasted[0].size, PastedSize::Lines(90));
    assert_eq!(reading.holds(&text.join("\n")), ComposerMatch::Whole);
    assert_eq!(composer(&GEMINI, "pasted-two-100x32").pasted[1].size, PastedSize::Characters(1200));
}

#[test]
fn the_shell_mode_and_completions_are_seen() {
    let shell = composer(&GEMINI, "shell-100x32");
    assert_eq!((shell.mode, shell.text), (ComposerMode::Shell, vec!["ls -l".to_owned()]));
    assert_eq!(composer(&GEMINI, "shell-empty-100x32").mode, ComposerMode::Shell);
    for scene in ["slash", "at"] {
        for name in sizes("gemini", scene) {
            assert!(composer(&GEMINI, &name).completion_open, "{name}");
        }
    }
    for name in ["idle-100x32", "draft-100x32", "working-draft-100x32", "shortcuts-100x32"] {
        assert!(!composer(&GEMINI, name).completion_open, "{name}");
    }
}

#[test]
fn work_is_seen_by_the_spinner() {
    for name in [sizes("gemini", "working"), sizes("gemini", "working-draft")].concat() {
        assert_eq!(GEMINI.read_screen(&screen("gemini", &name)).shows_work, Some(true), "{name}");
    }
    assert_eq!(GEMINI.read_screen(&screen("gemini", "answered-100x32")).shows_work, None);
}

#[test]
fn a_permission_dialog_has_its_command_and_options() {
    let permission = dialog(&GEMINI, "permission-100x32");
    assert_eq!((permission.kind, permission.title.as_str()), (DialogKind::Permission, "Shell  touch short-file"));
    assert_eq!(permission.question, "Allow execution of [Shell]?");
    assert_eq!(permission.details, ["touch short-file"]);
    assert_eq!(labels(&permission), ["Allow once", "Allow for this session", "No, suggest changes"]);
    let meanings: Vec<OptionMeaning> = permission.options.iter().map(|option| option.meaning).collect();
    assert_eq!(meanings, [OptionMeaning::AllowOnce, OptionMeaning::AllowAlways, OptionMeaning::RejectOnce]);
    assert_eq!(GEMINI.option_keys(&permission, 1), Some(vec![plain(KeyCode::Char('2'))]));
    assert_eq!(GEMINI.option_keys(&permission, 2), Some(vec![plain(KeyCode::Escape)]));
}

#[test]
fn a_wrapped_command_is_joined() {
    let command = "do touch \"file-$name\"; done && curl -s http://127.0.0.1:1/some/long/path/to/something";
    for name in sizes("gemini", "permission-long") {
        assert!(dialog(&GEMINI, &name).mentions(command), "{name}");
    }
}

#[test]
fn an_edit_shows_its_diff_and_the_option_for_an_editor_grants_nothing_known() {
    let edit = dialog(&GEMINI, "permission-edit-100x32");
    assert_eq!(edit.question, "Apply this change?");
    assert!(edit.details.iter().any(|line| line.contains("- two")), "{:?}", edit.details);
    let meanings: Vec<OptionMeaning> = edit.options.iter().map(|option| option.meaning).collect();
    let known = [OptionMeaning::AllowOnce, OptionMeaning::AllowAlways, OptionMeaning::Other, OptionMeaning::RejectOnce];
    assert_eq!(meanings, known);
}

#[test]
fn the_trust_dialog_is_read_in_its_indented_box() {
    let trust = dialog(&GEMINI, "trust-100x32");
    assert_eq!(trust.kind, DialogKind::Trust);
    assert_eq!(labels(&trust), ["Trust folder (project)", "Trust parent folder (lab)", "Don't trust"]);
    assert_eq!(trust.options[2].meaning, OptionMeaning::RejectOnce);
}

#[test]
fn pages_have_a_reason() {
    for page in ["model", "resume", "login", "page-settings", "page-auth", "page-theme", "page-rewind"] {
        assert!(!blocked(&GEMINI, &format!("{page}-100x32")).is_empty());
    }
    assert_eq!(blocked(&GEMINI, "model-100x32"), "the page “Select Model”");
    assert_eq!(blocked(&GEMINI, "resume-100x32"), "the list of chat sessions");
    assert_eq!(blocked(&GEMINI, "history-100x32"), "the search in the prompt history");
    assert_eq!(blocked(&GEMINI, "history-found-100x32"), "the search in the prompt history");
}

#[test]
fn the_title_tells_the_state() {
    assert_eq!(GEMINI.read_title("✦  Working… (project)"), TitleReading::Working);
    assert_eq!(GEMINI.read_title("◇  Ready (project)"), TitleReading::Idle);
    assert_eq!(GEMINI.read_title("✋  Action Required (project)"), TitleReading::NeedsAnswer);
}

#[test]
fn only_a_pasted_command_is_treated_specially() {
    assert_eq!(GEMINI.prompt_form("!ls ?"), PromptForm::Literal);
    assert_eq!(GEMINI.prompt_form("/src/notes.txt is long"), PromptForm::Literal);
    assert_eq!(GEMINI.prompt_form("a path \\"), PromptForm::Padded { before: "", after: " ", trimmed: true });
    assert!(matches!(GEMINI.prompt_form(" /help"), PromptForm::Refused(_)));
}
