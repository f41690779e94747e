use wh_core::input::KeyCode;
use wh_core::space::question::OptionMeaning;

use super::super::super::profile::{PromptForm, TitleReading, plain};
use super::super::super::reading::{ComposerMatch, ComposerMode, DialogKind, PastedSize};
use super::super::CODEX;
use super::*;

#[test]
fn an_empty_composer_holds_no_ghost_text() {
    for name in [sizes("codex", "idle"), sizes("codex", "working")].concat() {
        assert!(composer(&CODEX, &name).is_empty(), "{name}");
    }
}

#[test]
fn codex_is_not_ready_while_it_starts() {
    assert_eq!(blocked(&CODEX, "starting-100x32"), "the start of Codex");
}

#[test]
fn a_draft_is_read_in_any_size() {
    assert_eq!(composer(&CODEX, "draft-100x32").text, ["hello draft"]);
    let text = format!("hello draft first\nsecond line {}\nthird", "word ".repeat(40));
    for name in sizes("codex", "draft-lines") {
        assert_eq!(composer(&CODEX, &name).holds(&text), ComposerMatch::Whole, "{name}");
    }
    assert_eq!(composer(&CODEX, "working-draft-100x32").text, ["draft while"]);
    assert_eq!(composer(&CODEX, "draft-empty-lines-100x32").holds("several\n\n\nempty lines"), ComposerMatch::Whole);
}

#[test]
fn a_composer_that_scrolls_shows_the_end_of_its_text() {
    let text: Vec<String> = (0..40).map(|number| format!("scroll line {number}")).collect();
    for name in sizes("codex", "draft-forty") {
        let reading = composer(&CODEX, &name);
        assert!(reading.may_scroll, "{name}");
        assert_eq!(reading.holds(&text.join("\n")), ComposerMatch::Whole, "{name}");
        assert_eq!(reading.holds("scroll line 39"), ComposerMatch::Different, "{name}");
    }
}

#[test]
fn a_long_paste_is_a_placeholder() {
    let text: Vec<String> = (0..90).map(|number| format!("long line {number} and more")).collect();
    let reading = composer(&CODEX, "pasted-100x32");
    assert_eq!(reading.pasted[0].size, PastedSize::Characters(1969));
    assert_eq!(reading.holds(&text.join("\n")), ComposerMatch::Whole);
    assert_eq!(composer(&CODEX, "pasted-two-100x32").pasted.len(), 2);
}

#[test]
fn the_shell_mode_and_completions_are_seen() {
    let shell = composer(&CODEX, "shell-100x32");
    assert_eq!((shell.mode, shell.text), (ComposerMode::Shell, vec!["ls -l".to_owned()]));
    assert_eq!(composer(&CODEX, "shell-empty-100x32").mode, ComposerMode::Shell);
    for scene in ["slash", "at"] {
        for name in sizes("codex", scene) {
            assert!(composer(&CODEX, &name).completion_open, "{name}");
        }
    }
    for name in ["idle-100x32", "draft-100x32", "working-draft-100x32"] {
        assert!(!composer(&CODEX, name).completion_open, "{name}");
    }
}

#[test]
fn a_permission_dialog_has_its_command_and_options() {
    let permission = dialog(&CODEX, "permission-100x32");
    assert_eq!(permission.kind, DialogKind::Permission);
    assert_eq!(permission.question, "Would you like to run the following command?");
    assert!(permission.mentions("$ touch short-file"));
    let meanings: Vec<OptionMeaning> = permission.options.iter().map(|option| option.meaning).collect();
    assert_eq!(meanings, [OptionMeaning::AllowOnce, OptionMeaning::AllowAlways, OptionMeaning::RejectOnce]);
    let keys: Vec<Option<&str>> = permission.options.iter().map(|option| option.hotkey.as_deref()).collect();
    assert_eq!(keys, [Some("y"), Some("p"), Some("esc")]);
    assert_eq!(CODEX.option_keys(&permission, 0), Some(vec![plain(KeyCode::Char('1'))]));
    assert_eq!(CODEX.option_keys(&permission, 2), Some(vec![plain(KeyCode::Escape)]));
}

#[test]
fn a_wrapped_command_and_wrapped_options_are_joined() {
    let command = "rm -rf alpha beta gamma delta epsilon && touch \
                   made-by-a-long-command-that-wraps-over-the-end-of-the-row-of-the-terminal && curl -s \
                   http://127.0.0.1:1/some/long/path";
    for name in sizes("codex", "permission-long") {
        let permission = dialog(&CODEX, &name);
        assert!(permission.mentions(command), "{name}: {:?}", permission.details);
        let label = "Yes, and don't ask again for commands that start with `rm -rf alpha beta gamma delta epsilon`";
        assert_eq!(labels(&permission)[1], label, "{name}");
        assert_eq!(permission.options[1].hotkey.as_deref(), Some("p"), "{name}");
    }
}

#[test]
fn a_question_of_the_agent_has_its_options_with_descriptions() {
    let choice = dialog(&CODEX, "choice-plan-100x32");
    assert_eq!((choice.kind, choice.question.as_str()), (DialogKind::Choice, "Which colour?"));
    assert_eq!(labels(&choice), ["Red", "Blue", "None of the above"]);
    assert_eq!(choice.options[1].description, "the second");
}

#[test]
fn notes_of_a_question_take_no_digits() {
    let notes = dialog(&CODEX, "choice-notes-100x32");
    assert!(notes.focus_on_text);
    assert_eq!(CODEX.option_keys(&notes, 0), None);
    let two = dialog(&CODEX, "choice-two-100x32");
    assert_eq!((two.title.as_str(), two.question.as_str()), ("Question 1/2 (2 unanswered)", "Which colour?"));
    assert_eq!(CODEX.option_keys(&two, 1), Some(vec![plain(KeyCode::Char('2'))]));
}

#[test]
fn pages_have_a_reason() {
    for page in
        ["model", "resume", "page-diff", "page-permissions", "page-statusline", "page-theme", "page-rename", "login"]
    {
        assert!(!blocked(&CODEX, &format!("{page}-100x32")).is_empty());
    }
    assert_eq!(blocked(&CODEX, "model-100x32"), "the page “Select Model and Effort”");
    assert_eq!(blocked(&CODEX, "page-rename-100x32"), "the page “Name thread”");
    assert_eq!(blocked(&CODEX, "history-found-100x32"), "the search in the prompt history");
    assert_eq!(blocked(&CODEX, "interrupt-queued-100x32"), "the prompts of the transcript");
    assert_eq!(blocked(&CODEX, "shortcuts-100x32"), "the keyboard shortcuts");
}

#[test]
fn the_title_tells_the_state() {
    assert_eq!(CODEX.read_title("⠏ project"), TitleReading::Working);
    assert_eq!(CODEX.read_title("project"), TitleReading::Idle);
    assert_eq!(CODEX.read_title("[ ! ] Action Required | project"), TitleReading::NeedsAnswer);
    assert_eq!(CODEX.read_title("[ . ] Action Required | project"), TitleReading::NeedsAnswer);
    assert_eq!(CODEX.read_title(""), TitleReading::Unknown);
}

#[test]
fn texts_that_codex_treats_specially_are_padded_or_refused() {
    assert_eq!(CODEX.prompt_form("hello"), PromptForm::Literal);
    assert_eq!(CODEX.prompt_form("/model"), PromptForm::Padded { before: " ", after: "", trimmed: true });
    assert!(matches!(CODEX.prompt_form("\n/model"), PromptForm::Refused(_)));
    assert!(matches!(CODEX.prompt_form(" !ls"), PromptForm::Refused(_)));
    assert_eq!(CODEX.prompt_form(&format!("!{}", "x".repeat(1000))), PromptForm::Literal);
    assert!(matches!(CODEX.prompt_form(&format!("/{}", "x".repeat(1000))), PromptForm::Refused(_)));
    assert_eq!(CODEX.prompt_form("exit"), PromptForm::Literal);
}
