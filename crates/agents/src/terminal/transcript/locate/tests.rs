use std::fs;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// Process in the agent's terminal.
const OWN: u32 = 100;

const WATCH_TIMEOUT: Duration = Duration::from_secs(60);

/// Home directory, project directory and process information of a test.
struct Place {
    root: TempDir,
    started: SystemTime,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "project", "other", "proc"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        let place = Self { root, started: SystemTime::now() - Duration::from_secs(100) };
        place.process(OWN, 1, &["claude"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn process(&self, id: u32, parent: u32, arguments: &[&str]) {
        let folder = self.path(&format!("proc/{id}"));
        fs::create_dir_all(folder.join("fd")).unwrap();
        fs::write(folder.join("stat"), format!("{id} (a) b) S {parent} 1 1")).unwrap();
        fs::write(folder.join("cmdline"), arguments.join("\0")).unwrap();
        std::os::unix::fs::symlink(self.path("project"), folder.join("cwd")).unwrap();
    }

    fn opens(&self, id: u32, file: &Path) {
        std::os::unix::fs::symlink(file, self.path(&format!("proc/{id}/fd/7"))).unwrap();
    }

    fn here(&self) -> QueryContext {
        let mut here = QueryContext::new(self.path("project"));
        here.environment.insert("HOME".into(), Some(self.path("home").into()));
        for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"] {
            here.environment.insert(name.into(), None);
        }
        here
    }

    /// Returns a prompt that was sent one second after the start.
    fn received<'a>(&self, text: &'a str) -> ReceivedPrompt<'a> {
        ReceivedPrompt { text, sent_at: self.started + Duration::from_secs(1) }
    }

    /// Returns the time in a transcript, in seconds after the start of the agent.
    fn time(&self, seconds: u64) -> String {
        jiff::Timestamp::try_from(self.started + Duration::from_secs(seconds)).unwrap().to_string()
    }

    fn search(&self, format: TranscriptFormat) -> TranscriptSearch {
        let search = TranscriptSearch::new(format, self.here(), OWN, self.started);
        TranscriptSearch { proc: self.path("proc"), ..search }
    }

    /// Writes a file that was modified `age` seconds after the start of the agent.
    fn write(&self, path: &Path, lines: &[Value], age: i64) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let distance = Duration::from_secs(age.unsigned_abs());
        let modified = if age < 0 { self.started - distance } else { self.started + distance };
        fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        path.to_owned()
    }

    fn claude(&self, name: &str, prompt: &str, age: i64) -> PathBuf {
        let folder = history_folder(self);
        let line = json!({"type": "user", "promptSource": "typed", "cwd": self.path("project"), "entrypoint": "cli",
            "message": {"role": "user", "content": prompt}, "timestamp": self.time(2)});
        self.write(&folder.join(format!("{name}.jsonl")), &[json!({"type": "mode"}), line], age)
    }

    fn codex(&self, name: &str, meta: Value, age: i64) -> PathBuf {
        let mut whole = json!({"id": name, "cwd": self.path("project"), "originator": "codex-tui", "source": "cli"});
        whole.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
        let path = self.path(&format!("home/.codex/sessions/2026/11/19/rollout-{name}.jsonl"));
        self.write(&path, &[json!({"type": "session_meta", "payload": whole})], age)
    }
}

fn history_folder(place: &Place) -> PathBuf {
    crate::claude::history::folder(&place.here()).unwrap()
}

fn found(path: &Path) -> LocatedTranscript {
    LocatedTranscript::Found(path.to_owned())
}

#[test]
fn the_newest_file_since_the_start_is_found_if_no_other_process_may_have_written_it() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Claude);
    place.claude("old", "x", -5);
    assert_eq!(search.locate(None), LocatedTranscript::Missing);
    let first = place.claude("first", "x", 5);
    assert_eq!(search.locate(None), found(&first));
    let cleared = place.claude("cleared", "x", 9);
    assert_eq!(search.locate(None), found(&cleared));
    place.claude("first", "x", 12);
    assert_eq!(search.locate(None), found(&first), "resumed");
}

#[test]
fn beside_another_process_only_a_received_prompt_decides() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Claude);
    place.process(200, 1, &["node", "/opt/claude.js"]);
    let one = place.claude("one", "mine", 5);
    let two = place.claude("two", "theirs", 6);
    assert_eq!(search.locate(None), LocatedTranscript::Ambiguous(vec![one.clone(), two]));
    assert_eq!(search.locate(Some(place.received("mine"))), found(&one));
    assert_eq!(search.locate(Some(place.received("neither"))), LocatedTranscript::Missing);
    let later = ReceivedPrompt { text: "theirs", sent_at: place.started + Duration::from_secs(3) };
    assert_eq!(search.locate(Some(later)), LocatedTranscript::Missing, "the same text was sent elsewhere before");
    let three = place.claude("three", "mine", 7);
    assert_eq!(search.locate(Some(place.received("mine"))), LocatedTranscript::Ambiguous(vec![one, three]));
}

#[test]
fn processes_below_the_agent_and_other_programs_are_no_rivals() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Claude);
    place.process(101, OWN, &["claude"]);
    place.process(102, 101, &["/bin/bash", "-c", "claude"]);
    place.process(200, 1, &["vim", "claude"]);
    place.process(201, 1, &["wh", "run", "--", "claude"]);
    let file = place.claude("one", "mine", 5);
    assert_eq!(search.locate(None), found(&file));
}

#[test]
fn an_open_file_of_the_agent_is_its_own() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Codex);
    place.process(101, OWN, &["codex"]);
    place.process(200, 1, &["codex"]);
    let own = place.codex("own", json!({}), 3);
    let other = place.codex("other", json!({}), 9);
    assert_eq!(search.locate(None), LocatedTranscript::Ambiguous(vec![other, own.clone()]));
    place.opens(101, &own);
    assert_eq!(search.locate(None), found(&own));
}

#[test]
fn a_file_that_a_shared_server_has_open_proves_nothing() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Codex);
    place.process(101, OWN, &["codex", "app-server", "--listen", "unix://"]);
    place.process(200, 1, &["codex"]);
    let file = place.codex("other", json!({}), 9);
    place.opens(101, &file);
    assert_eq!(search.locate(None), LocatedTranscript::Ambiguous(vec![file]));
}

#[test]
fn conversations_of_subagents_other_programs_and_other_directories_are_left_out() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Codex);
    place.codex("sub", json!({"source": {"subagent": "review"}}), 5);
    place.codex("server", json!({"originator": "wheelhouse"}), 5);
    place.codex("exec", json!({"originator": "codex_exec"}), 5);
    place.codex("other", json!({"cwd": place.path("other")}), 5);
    assert_eq!(search.locate(None), LocatedTranscript::Missing);
    let file = place.codex("own", json!({}), 5);
    assert_eq!(search.locate(None), found(&file));
    let search = place.search(TranscriptFormat::Claude);
    let line = json!({"type": "user", "cwd": place.path("project"), "entrypoint": "sdk-cli"});
    place.write(&history_folder(&place).join("sdk.jsonl"), &[line], 5);
    assert_eq!(search.locate(None), LocatedTranscript::Missing);
}

#[test]
fn two_conversations_of_gemini_need_a_prompt() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Gemini);
    assert_eq!(search.locate(None), LocatedTranscript::Missing);
    let projects = json!({"projects": {(place.path("project").to_str().unwrap()): "p"}});
    fs::create_dir_all(place.path("home/.gemini")).unwrap();
    fs::write(place.path("home/.gemini/projects.json"), projects.to_string()).unwrap();
    let file = |name: &str, prompt: &str| {
        let head = json!({"sessionId": name, "projectHash": "h", "kind": "main"});
        let said = json!({"id": "1", "type": "user", "timestamp": place.time(2), "content": [{"text": prompt}]});
        place.write(&place.path(&format!("home/.gemini/tmp/p/chats/session-{name}.jsonl")), &[head, said], 5)
    };
    let one = file("one", "mine");
    assert_eq!(search.locate(None), found(&one));
    let two = file("two", "theirs");
    assert_eq!(search.locate(None), LocatedTranscript::Ambiguous(vec![one.clone(), two]));
    assert_eq!(search.locate(Some(place.received("mine"))), found(&one));
}

#[tokio::test]
async fn a_new_transcript_in_a_new_directory_is_noticed() {
    let place = Place::new();
    let search = place.search(TranscriptFormat::Codex);
    let mut watch = search.watch().unwrap();
    let expected = place.path("home/.codex/sessions/2026/11/19/rollout-new.jsonl");
    let writer = std::thread::spawn({
        let path = expected.clone();
        let (project, lines) = (place.path("project"), "codex-tui");
        move || {
            let line = json!({"type": "session_meta", "payload": {"id": "n", "cwd": project, "originator": lines}});
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{line}\n")).unwrap();
        }
    });
    let noticed = async {
        loop {
            search.rearm(&mut watch);
            if search.locate(None) == found(&expected) {
                break;
            }
            watch.changed().await.unwrap();
        }
    };
    tokio::time::timeout(WATCH_TIMEOUT, noticed).await.expect("the file is noticed before the timeout");
    writer.join().unwrap();
}
