//! Tricks that use tools to read, search, run and edit.

use serde_json::json;
use wh_core::space::harness::Report;
use wh_core::space::item::{ToolKind, ToolResultPart, ToolStatus};
use wh_core::space::question::QuestionDetail;

use super::asking::PermissionOutcome;
use crate::folder::GREETING;
use crate::stage::{DemoPermission, DemoTask, TrickResult};
use crate::tools::{self, card};

const COMMAND: &str = "make check";

const CHECKS: [&str; 5] = [
    "hull          ok\n",
    "mast          ok\n",
    "sails         ok, one patched\n",
    "rudder        ok\n",
    "4 checked, none failed\n",
];

const GREETINGS: [&str; 4] = ["Hello", "Ahoy", "Welcome aboard", "Good day"];

impl DemoTask {
    pub async fn look_around(&mut self) -> TrickResult {
        self.think("looking around in my folder", "I read about the project, then search for the greeting.").await?;
        self.read_a_file("README.md").await?;
        self.search("greet").await?;
        self.speak("This is a small project that greets visitors. The greeting is in `src/greeting.rs`.")
            .await
            .map(drop)
    }

    async fn read_a_file(&mut self, name: &str) -> TrickResult {
        let call = card("read", &format!("Read {name}"), ToolKind::Read, json!({ "path": name }));
        let mut shown = self.show(call).await?;
        self.set_status(&mut shown, ToolStatus::Running).await?;
        self.wait_words(20).await?;
        match self.folder.read(name) {
            Ok(content) => self.finish(shown, ToolStatus::Completed, Some(ToolResultPart::Text(content))).await,
            Err(reason) => self.finish(shown, ToolStatus::Failed, Some(ToolResultPart::Text(reason))).await,
        }
    }

    async fn search(&mut self, wanted: &str) -> TrickResult {
        let call = card("search", &format!("Search for {wanted:?}"), ToolKind::Search, json!({ "text": wanted }));
        let mut shown = self.show(call).await?;
        self.set_status(&mut shown, ToolStatus::Running).await?;
        self.wait_words(20).await?;
        match tools::search(&mut self.folder, wanted) {
            Ok(lines) => self.finish(shown, ToolStatus::Completed, Some(ToolResultPart::Text(lines))).await,
            Err(reason) => self.finish(shown, ToolStatus::Failed, Some(ToolResultPart::Text(reason))).await,
        }
    }

    pub async fn run_a_command(&mut self) -> TrickResult {
        self.think("checking the boat", "I check everything before we leave. This runs a command, so I ask first.")
            .await?;
        let call = card("run", &format!("Run {COMMAND}"), ToolKind::Execute, json!({ "command": COMMAND }));
        let mut shown = self.show(call).await?;
        let details = vec![
            QuestionDetail::Command(COMMAND.to_owned()),
            QuestionDetail::Text("This is simulated: I start no programs.".to_owned()),
        ];
        match self.permit(DemoPermission::Run, &format!("Run {COMMAND}?"), details, None).await? {
            PermissionOutcome::Standing | PermissionOutcome::Allowed => {}
            refused => {
                let words = refusal(&refused);
                self.finish(shown, ToolStatus::Denied, Some(ToolResultPart::Text(words.clone()))).await?;
                return self.speak(&format!("{words} Nothing was run.")).await.map(drop);
            }
        }
        self.set_status(&mut shown, ToolStatus::Running).await?;
        for line in CHECKS {
            self.wait_words(15).await?;
            self.print(&mut shown, line).await?;
        }
        self.finish(shown, ToolStatus::Completed, None).await?;
        self.speak("All four checks passed. (No program was started; the output is invented.)").await.map(drop)
    }

    /// Changes the greeting in a file of the agent's directory, after asking for a permission. The timeout of the
    /// question is `timeout_words` times the time per word; `None` means no timeout.
    pub async fn edit_a_file(&mut self, timeout_words: Option<u32>) -> TrickResult {
        let (old, new, word) = match self.folder.read(GREETING) {
            Ok(old) => {
                let (new, word) = self.reworded(&old);
                (old, new, word)
            }
            Err(reason) => return self.speak(&format!("I cannot change the greeting: {reason}.")).await.map(drop),
        };
        self.think(
            "changing the greeting",
            &format!("The greeting could be warmer: “{word}”. I change one line of {GREETING}."),
        )
        .await?;
        let call =
            card("edit", &format!("Edit {GREETING}"), ToolKind::Edit, json!({ "path": GREETING, "content": new }));
        let mut shown = self.show(call).await?;
        let details = vec![
            QuestionDetail::Diff { path: GREETING.to_owned(), old: Some(old.clone()), new: new.clone() },
            QuestionDetail::Text("The file is in a temporary directory that I delete on exit.".to_owned()),
        ];
        match self.permit(DemoPermission::Edit, &format!("Change {GREETING}?"), details, timeout_words).await? {
            PermissionOutcome::Standing | PermissionOutcome::Allowed => {}
            refused => {
                let words = refusal(&refused);
                self.finish(shown, ToolStatus::Denied, Some(ToolResultPart::Text(words.clone()))).await?;
                return self.speak(&format!("{words} `{GREETING}` is unchanged.")).await.map(drop);
            }
        }
        self.set_status(&mut shown, ToolStatus::Running).await?;
        self.wait_words(10).await?;
        match self.folder.write(GREETING, &new) {
            Ok(old) => {
                let diff = ToolResultPart::Diff { path: GREETING.to_owned(), old, new };
                self.finish(shown, ToolStatus::Completed, Some(diff)).await?;
                self.speak(&format!("Done: `{GREETING}` now says **{word}**.")).await.map(drop)
            }
            Err(reason) => {
                self.finish(shown, ToolStatus::Failed, Some(ToolResultPart::Text(reason.clone()))).await?;
                self.speak(&format!("The change failed: {reason}.")).await.map(drop)
            }
        }
    }

    /// Returns the content of the file with a different greeting, and that greeting.
    fn reworded(&mut self, old: &str) -> (String, &'static str) {
        let quoted = |word: &str| format!("let word = {word:?};");
        let current = GREETINGS.into_iter().find(|word| old.contains(&quoted(word)));
        let others: Vec<&'static str> = GREETINGS.into_iter().filter(|word| Some(*word) != current).collect();
        let word = self.chance.pick(&others);
        match current {
            Some(current) => (old.replace(&quoted(current), &quoted(word)), word),
            // The file was edited by hand and contains none of the greetings, so a line is appended.
            None => (format!("{old}// {word}\n"), word),
        }
    }

    pub async fn list_tools(&mut self) -> TrickResult {
        let catalogue = tools::catalogue();
        self.say(Report::Tools(catalogue.clone())).await?;
        let rows: Vec<String> = catalogue
            .iter()
            .map(|tool| format!("| `{}` | {} |", tool.name, tool.description.as_deref().unwrap_or_default()))
            .collect();
        let text = format!(
            "These are my tools. Clients can use them too:\n\n| tool | description |\n|---|---|\n{}",
            rows.join("\n")
        );
        self.speak(&text).await.map(drop)
    }
}

fn refusal(verdict: &PermissionOutcome) -> String {
    match verdict {
        PermissionOutcome::Rejected(Some(reason)) => format!("Not allowed: “{reason}”."),
        PermissionOutcome::Unanswered => "There was no answer in time.".to_owned(),
        _ => "Not allowed.".to_owned(),
    }
}
