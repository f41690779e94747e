use wh_core::input::KeyCode;
use wh_core::space::question::OptionMeaning;

use super::super::super::profile::{PromptForm, TitleReading, plain};
use super::super::super::reading::{ComposerMatch, ComposerMode, DialogKind, PastedSize, ScreenPlace};
use super::super::CLAUDE;
use super::*;

#[test]
fn an_empty_composer_holds_no_ghost_text() {
    for name in [sizes("claude", "idle"), sizes("claude", "working")].concat() {
        assert!(composer(&CLAUDE, &name).is_empty(), "{name}");
    }
    // The hint about queued messages is drawn in the composer.
    assert!(composer(&CLAUDE, "working-queued-100x32").is_empty());
    for name in ["idle-blurred-100x32", "ghost-100x32"] {
        assert!(composer(&CLAUDE, name).is_empty(), "{name}");
    }
}

#[test]
fn a_draft_is_read_in_any_size() {
    assert_eq!(composer(&CLAUDE, "draft-100x32").text, ["hello draft"]);
    let text = format!("hello draft first\nsecond line {}\nthird", "word ".repeat(40));
    for name in sizes("claude", "draft-lines") {
        assert_eq!(composer(&CLAUDE, &name).holds(&text), ComposerMatch::Whole, "{name}");
    }
    assert_eq!(composer(&CLAUDE, "working-draft-100x32").text, ["draft while"]);
    assert_eq!(composer(&CLAUDE, "status-line-draft-100x32").text, ["draft"]);
}

#[test]
fn a_long_paste_is_a_placeholder() {
    let text: Vec<String> = (0..60).map(|number| format!("long line {number}")).collect();
    let reading = composer(&CLAUDE, "pasted-100x32");
    assert_eq!(reading.pasted[0].size, PastedSize::LineBreaks(59));
    assert_eq!(reading.holds(&text.join("\n")), ComposerMatch::Whole);
    assert_eq!(composer(&CLAUDE, "pasted-two-100x32").pasted.len(), 2);
}

#[test]
fn the_shell_mode_and_completions_are_seen() {
    let shell = composer(&CLAUDE, "shell-100x32");
    assert_eq!((shell.mode, shell.text), (ComposerMode::Shell, vec!["ls -l".to_owned()]));
    let empty = composer(&CLAUDE, "shell-empty-100x32");
    assert_eq!((empty.mode.clone(), empty.is_empty()), (ComposerMode::Shell, true));
    for name in [sizes("claude", "slash"), sizes("claude", "at")].concat() {
        assert!(composer(&CLAUDE, &name).completion_open, "{name}");
    }
    for name in ["idle-100x32", "draft-100x32", "shortcuts-100x32", "status-line-100x32", "quit-hint-100x32"] {
        assert!(!composer(&CLAUDE, name).completion_open, "{name}");
    }
}

#[test]
fn work_is_seen_by_the_spinner_or_the_hint() {
    for name in [sizes("claude", "working"), sizes("claude", "working-draft")].concat() {
        assert_eq!(CLAUDE.read_screen(&screen("claude", &name)).shows_work, Some(true), "{name}");
    }
    for name in ["idle-100x32", "answered-100x32", "interrupted-100x32", "error-100x32", "said-composer-100x32"] {
        assert_eq!(CLAUDE.read_screen(&screen("claude", name)).shows_work, None, "{name}");
    }
}

#[test]
fn a_permission_dialog_has_its_command_and_options() {
    let permission = dialog(&CLAUDE, "permission-100x32");
    assert_eq!((permission.kind, permission.title.as_str()), (DialogKind::Permission, "Bash command"));
    assert_eq!(permission.question, "Do you want to proceed?");
    assert!(permission.mentions("touch short-file"));
    assert!(!permission.mentions("touch other-file"));
    let meanings: Vec<OptionMeaning> = permission.options.iter().map(|option| option.meaning).collect();
    assert_eq!(meanings, [OptionMeaning::AllowOnce, OptionMeaning::AllowAlways, OptionMeaning::RejectOnce]);
    let refuse = permission.option(OptionMeaning::RejectOnce).unwrap();
    assert_eq!(CLAUDE.option_keys(&permission, refuse), Some(vec![plain(KeyCode::Char('3'))]));
    assert!(!permission.focus_on_text);
}

#[test]
fn a_wrapped_command_and_wrapped_options_are_joined() {
    let command = "rm -rf alpha beta gamma delta epsilon && touch \
                   made-by-a-long-command-that-wraps-over-the-end-of-the-row-of-the-terminal && curl -s \
                   http://127.0.0.1:1/some/long/path";
    for name in sizes("claude", "permission-long") {
        let permission = dialog(&CLAUDE, &name);
        assert!(permission.mentions(command), "{name}: {:?}", permission.details);
        let labels = labels(&permission);
        assert_eq!(labels[1], "Yes, and don't ask again for similar commands in /home/dev/lab/project", "{name}");
        assert_eq!(permission.options[1].meaning, OptionMeaning::AllowAlways);
    }
}

#[test]
fn an_edit_shows_its_diff() {
    let edit = dialog(&CLAUDE, "permission-edit-100x32");
    assert_eq!((edit.kind, edit.title.as_str()), (DialogKind::Permission, "Edit file"));
    assert!(edit.details.iter().any(|line| line.contains("+line five")), "{:?}", edit.details);
    let create = dialog(&CLAUDE, "permission-create-100x32");
    assert_eq!(create.title, "Create file");
    assert!(create.mentions("src/new.txt"));
}

#[test]
fn a_text_field_of_a_dialog_takes_no_digits() {
    for name in ["permission-amend-100x32", "permission-amended-100x32", "choice-text-100x32", "choice-typed-100x32"] {
        let dialog = dialog(&CLAUDE, name);
        assert!(dialog.focus_on_text, "{name}");
        assert_eq!(CLAUDE.option_keys(&dialog, 1), None, "{name}");
    }
}

#[test]
fn a_question_of_the_agent_has_its_options_with_descriptions() {
    let choice = dialog(&CLAUDE, "choice-100x32");
    assert_eq!((choice.kind, choice.question.as_str()), (DialogKind::Choice, "Which colour?"));
    assert_eq!(labels(&choice), ["Red", "Blue", "Type something.", "Chat about this"]);
    assert_eq!(choice.options[0].description, "the first");
    assert!(choice.options.iter().all(|option| option.meaning == OptionMeaning::Other));
    assert_eq!(CLAUDE.option_keys(&choice, 1), Some(vec![plain(KeyCode::Char('2'))]));
    let many = dialog(&CLAUDE, "choice-many-100x32");
    assert!(many.multiple);
    assert_eq!(labels(&many)[..2], ["Apple", "Pear"]);
    assert_eq!(CLAUDE.option_keys(&many, 0), None);
    let submit = dialog(&CLAUDE, "choice-submit-100x32");
    assert_eq!(labels(&submit), ["Submit answers", "Cancel"]);
}

#[test]
fn plans_and_trust_are_dialogs_of_their_kind() {
    let plan = dialog(&CLAUDE, "plan-100x32");
    assert_eq!(plan.kind, DialogKind::Plan);
    let meanings: Vec<OptionMeaning> = plan.options.iter().map(|option| option.meaning).collect();
    assert_eq!(meanings, [OptionMeaning::AllowAlways, OptionMeaning::AllowOnce, OptionMeaning::RejectOnce]);
    assert_eq!((plan.title.as_str(), plan.details.len()), ("Ready to code?", 6));
    assert!(plan.mentions("step 1: build the thing with care"));
    assert_eq!(CLAUDE.option_keys(&dialog(&CLAUDE, "plan-typed-100x32"), 0), None);
    let trust = dialog(&CLAUDE, "trust-100x32");
    assert_eq!(trust.kind, DialogKind::Trust);
    assert_eq!(labels(&trust), ["Yes, I trust this folder", "No, exit"]);
}

#[test]
fn pages_have_a_reason() {
    let pages =
        ["model", "resume", "help", "history", "transcript", "rewind", "page-config", "page-theme", "page-hooks"];
    for page in pages {
        assert!(!blocked(&CLAUDE, &format!("{page}-100x32")).is_empty());
    }
    assert_eq!(blocked(&CLAUDE, "model-100x32"), "the page “Select model”");
    assert_eq!(blocked(&CLAUDE, "history-100x32"), "the search in the prompt history");
}

#[test]
fn an_inverse_status_line_does_not_hide_the_composer_and_a_focused_hint_does() {
    let rule = "─".repeat(80);
    let read = |cursor: &str| {
        let screen = format!("{rule}\r\n❯\u{a0}{cursor}\r\n{rule}\r\n  \x1b[7m main \x1b[0m\x1b[2;3H");
        CLAUDE.read_screen(&drawn(screen.as_bytes(), 80, 24)).place
    };
    assert!(matches!(read("\x1b[7m \x1b[0m"), ScreenPlace::Composer(composer) if composer.is_empty()));
    assert_eq!(read(""), ScreenPlace::Unrecognised);
}

#[test]
fn a_blank_screen_is_unrecognised() {
    assert_eq!(CLAUDE.read_screen(&drawn(b"", 80, 24)).place, ScreenPlace::Unrecognised);
}

#[test]
fn the_title_tells_working_and_idle_only() {
    assert_eq!(CLAUDE.read_title("⠐ Claude Code"), TitleReading::Working);
    assert_eq!(CLAUDE.read_title("✳ Claude Code"), TitleReading::Idle);
    assert_eq!(CLAUDE.read_title("vim"), TitleReading::Unknown);
}

#[test]
fn texts_that_claude_treats_specially_are_padded_or_refused() {
    let padded = |before, after| PromptForm::Padded { before, after, trimmed: false };
    assert_eq!(CLAUDE.prompt_form("hello"), PromptForm::Literal);
    assert_eq!(CLAUDE.prompt_form("/model opus"), padded(" ", ""));
    assert_eq!(CLAUDE.prompt_form("!ls"), padded(" ", ""));
    assert_eq!(CLAUDE.prompt_form("#1 @x & ?"), PromptForm::Literal);
    assert_eq!(CLAUDE.prompt_form("a path \\"), padded("", " "));
    assert!(matches!(CLAUDE.prompt_form(" exit\n"), PromptForm::Refused(_)));
    assert_eq!(CLAUDE.prompt_form("exit now"), PromptForm::Literal);
}
