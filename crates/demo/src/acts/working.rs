//! Tricks of working: reading, searching, running and editing, each on a card of its own.

use serde_json::json;
use wh_core::space::harness::Report;
use wh_core::space::item::{Output, ToolKind, ToolStatus};
use wh_core::space::question::Detail;

use super::asking::Verdict;
use crate::folder::GREETING;
use crate::stage::{Act, Permit, Stage};
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

impl Stage {
    pub async fn look_around(&mut self) -> Act {
        self.think("looking around in my folder", "I read what the project is about, then look where it greets.")
            .await?;
        self.read_a_file("README.md").await?;
        self.search("greet").await?;
        self.speak("A small project: it greets whoever comes in, in `src/greeting.rs`.").await.map(drop)
    }

    async fn read_a_file(&mut self, name: &str) -> Act {
        let call = card("read", &format!("Read {name}"), ToolKind::Read, json!({ "path": name }));
        let mut shown = self.show(call).await?;
        self.fare(&mut shown, ToolStatus::Running).await?;
        self.rest(20).await?;
        match self.folder.read(name) {
            Ok(content) => self.finish(shown, ToolStatus::Completed, Some(Output::Text(content))).await,
            Err(reason) => self.finish(shown, ToolStatus::Failed, Some(Output::Text(reason))).await,
        }
    }

    async fn search(&mut self, wanted: &str) -> Act {
        let call = card("search", &format!("Search for {wanted:?}"), ToolKind::Search, json!({ "text": wanted }));
        let mut shown = self.show(call).await?;
        self.fare(&mut shown, ToolStatus::Running).await?;
        self.rest(20).await?;
        match tools::found(&mut self.folder, wanted) {
            Ok(lines) => self.finish(shown, ToolStatus::Completed, Some(Output::Text(lines))).await,
            Err(reason) => self.finish(shown, ToolStatus::Failed, Some(Output::Text(reason))).await,
        }
    }

    pub async fn run_a_command(&mut self) -> Act {
        self.think("checking the boat", "Before we go anywhere, everything is checked. That runs a command, so I ask.")
            .await?;
        let call = card("run", &format!("Run {COMMAND}"), ToolKind::Execute, json!({ "command": COMMAND }));
        let mut shown = self.show(call).await?;
        let details = vec![
            Detail::Command(COMMAND.to_owned()),
            Detail::Text("It is only pretended: I start no programs.".to_owned()),
        ];
        match self.permit(Permit::Run, &format!("Run {COMMAND}?"), details, None).await? {
            Verdict::Standing | Verdict::Allowed => {}
            refused => {
                let words = refusal(&refused);
                self.finish(shown, ToolStatus::Denied, Some(Output::Text(words.clone()))).await?;
                return self.speak(&format!("{words} Nothing was run.")).await.map(drop);
            }
        }
        self.fare(&mut shown, ToolStatus::Running).await?;
        for line in CHECKS {
            self.rest(15).await?;
            self.print(&mut shown, line).await?;
        }
        self.finish(shown, ToolStatus::Completed, None).await?;
        self.speak("All four checks passed. (No program was started; the output is made up.)").await.map(drop)
    }

    /// Changes the word of greeting in a file of its own. With a patience it waits no longer for the permission.
    pub async fn edit_a_file(&mut self, patience: Option<u32>) -> Act {
        let (old, new, word) = match self.folder.read(GREETING) {
            Ok(old) => {
                let (new, word) = self.reworded(&old);
                (old, new, word)
            }
            Err(reason) => return self.speak(&format!("I cannot work: {reason}.")).await.map(drop),
        };
        self.think(
            "changing the greeting",
            &format!("The greeting could be warmer: “{word}”. One line of {GREETING}."),
        )
        .await?;
        let call =
            card("edit", &format!("Edit {GREETING}"), ToolKind::Edit, json!({ "path": GREETING, "content": new }));
        let mut shown = self.show(call).await?;
        let details = vec![
            Detail::Diff { path: GREETING.to_owned(), old: Some(old.clone()), new: new.clone() },
            Detail::Text("The file is in a temporary folder of mine, which goes when I go.".to_owned()),
        ];
        match self.permit(Permit::Edit, &format!("Change {GREETING}?"), details, patience).await? {
            Verdict::Standing | Verdict::Allowed => {}
            refused => {
                let words = refusal(&refused);
                self.finish(shown, ToolStatus::Denied, Some(Output::Text(words.clone()))).await?;
                return self.speak(&format!("{words} `{GREETING}` is as it was.")).await.map(drop);
            }
        }
        self.fare(&mut shown, ToolStatus::Running).await?;
        self.rest(10).await?;
        match self.folder.write(GREETING, &new) {
            Ok(old) => {
                let diff = Output::Diff { path: GREETING.to_owned(), old, new };
                self.finish(shown, ToolStatus::Completed, Some(diff)).await?;
                self.speak(&format!("Done: `{GREETING}` now says **{word}**.")).await.map(drop)
            }
            Err(reason) => {
                self.finish(shown, ToolStatus::Failed, Some(Output::Text(reason.clone()))).await?;
                self.speak(&format!("That did not work: {reason}.")).await.map(drop)
            }
        }
    }

    /// The file with another word of greeting than it has.
    fn reworded(&mut self, old: &str) -> (String, &'static str) {
        let quoted = |word: &str| format!("let word = {word:?};");
        let current = GREETINGS.into_iter().find(|word| old.contains(&quoted(word)));
        let others: Vec<&'static str> = GREETINGS.into_iter().filter(|word| Some(*word) != current).collect();
        let word = self.chance.pick(&others);
        match current {
            Some(current) => (old.replace(&quoted(current), &quoted(word)), word),
            // Somebody changed the file by hand: then a line is added.
            None => (format!("{old}// {word}\n"), word),
        }
    }

    pub async fn list_tools(&mut self) -> Act {
        let catalogue = tools::catalogue();
        self.say(Report::Tools(catalogue.clone())).await?;
        let rows: Vec<String> = catalogue
            .iter()
            .map(|tool| format!("| `{}` | {} |", tool.name, tool.description.as_deref().unwrap_or_default()))
            .collect();
        let text = format!("My tools, which others may use too:\n\n| tool | does |\n|---|---|\n{}", rows.join("\n"));
        self.speak(&text).await.map(drop)
    }
}

fn refusal(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Rejected(Some(reason)) => format!("Not allowed: “{reason}”."),
        Verdict::Unanswered => "Nobody answered in time.".to_owned(),
        _ => "Not allowed.".to_owned(),
    }
}
