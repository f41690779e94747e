use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const ID: &str = "6104d0d3-1111-4222-8333-0123456789ab";

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.chats()).unwrap();
        let projects = json!({"projects": {"/work": "work", "/elsewhere": "elsewhere"}});
        fs::write(home.0.path().join(".gemini/projects.json"), projects.to_string()).unwrap();
        home
    }

    fn chats(&self) -> PathBuf {
        self.0.path().join(".gemini/tmp/work/chats")
    }

    fn files(&self) -> ConversationFiles {
        let mut here = QueryContext::new("/work");
        here.environment.insert("HOME".into(), Some(self.0.path().into()));
        here.environment.insert("GEMINI_CLI_HOME".into(), None);
        here.environment.insert("XDG_STATE_HOME".into(), Some(self.0.path().join("state").into()));
        ConversationFiles::new(&here, ID).unwrap()
    }

    fn begin(&self, name: &str, said: &[&str]) {
        let mut lines = vec![
            json!({"sessionId": ID, "projectHash": "h", "kind": "main"}),
            json!({"$set": {"messages": [{"id": "c", "type": "user", "content": [{"text": "<session_context>x"}]}]}}),
        ];
        lines.extend(said.iter().map(|text| json!({"id": text, "type": "user", "content": [{"text": text}]})));
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(self.chats().join(name), format!("{}\n{{\"cut o", text.join("\n"))).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.chats()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

fn messages(file: &Path) -> Vec<String> {
    ConversationContent::read(file).unwrap().resumable().map(str::to_owned).collect()
}

const SAFE: &str = "session-2026-11-18T01-02-6104d0d3-456789ab.jsonl";

#[test]
fn a_file_is_copied_and_gets_a_name_that_gemini_does_not_use() {
    let home = Home::new();
    home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one", "two"]);
    home.begin("session-2026-11-18T01-03-6104d0d3.jsonl", &[]);
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Safe);
    assert_eq!(home.names(), [SAFE], "the empty one is gone");
    assert_eq!(messages(&home.files().copy(0)), ["one", "two"]);
    assert!(!home.files().can_restore(), "the file has it all");
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Safe, "and it keeps that name");
    home.begin("session-2026-11-18T01-04-6104d0d3.jsonl", &[]);
    home.files().remove_empty();
    assert_eq!(home.names(), [SAFE]);
}

#[test]
fn a_file_that_is_gone_or_lost_its_messages_is_restored_from_the_copy() {
    let home = Home::new();
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Missing);
    home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one", "two"]);
    home.files().prepare(false).unwrap();
    fs::remove_file(home.chats().join(SAFE)).unwrap();
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Restored);
    let restored = home.chats().join(&home.names()[0]);
    assert_eq!(messages(&restored), ["one", "two"]);
    fs::remove_file(restored).unwrap();

    home.begin(SAFE, &["two"]);
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Safe, "what is there is taken");
    assert_eq!(
        home.files().prepare(true).unwrap(),
        PreparedFile::Restored,
        "the copy has more, and was not overwritten"
    );
    assert_eq!(messages(&home.chats().join(SAFE)), ["one", "two"]);
    assert_eq!(messages(&home.files().replaced(0)), ["two"], "and the file that was there is kept");
}

#[test]
fn a_copy_is_overwritten_only_by_a_file_that_has_all_of_it() {
    let home = Home::new();
    home.begin(SAFE, &["one", "two"]);
    home.files().prepare(false).unwrap();
    home.begin(SAFE, &["one", "two", "three"]);
    home.files().prepare(false).unwrap();
    assert!(!home.files().copy(1).exists(), "it has grown");

    home.begin(SAFE, &["four", "five", "six", "seven"]);
    home.files().prepare(false).unwrap();
    assert_eq!(messages(&home.files().copy(0)), ["four", "five", "six", "seven"]);
    assert_eq!(messages(&home.files().copy(1)), ["one", "two", "three"], "a longer file does not replace it");
    assert!(home.files().can_restore());
    assert_eq!(home.files().prepare(true).unwrap(), PreparedFile::Restored);
    assert_eq!(messages(&home.chats().join(SAFE)), ["one", "two", "three"]);
    assert_eq!(messages(&home.files().replaced(0)), ["four", "five", "six", "seven"]);

    for said in ["eight", "nine", "ten", "eleven"] {
        home.begin(SAFE, &[said]);
        home.files().prepare(false).unwrap();
    }
    let kept = fs::read_dir(&home.files().state).unwrap().count();
    assert_eq!(kept, MAX_COPIES + 1, "their number is bounded");
}

#[test]
fn two_files_of_one_conversation_do_not_overwrite_each_other() {
    let home = Home::new();
    home.begin(SAFE, &["one"]);
    home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["two", "three"]);
    home.files().prepare(false).unwrap();
    assert_eq!(messages(&home.chats().join(SAFE)), ["two", "three"]);
    assert_eq!(messages(&home.files().replaced(0)), ["one"]);
}

#[test]
fn copies_are_private_and_links_are_not_followed() {
    let home = Home::new();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    let (state, outside) = (home.files().state, home.0.path().join("outside"));
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    fs::write(&outside, "mine").unwrap();
    symlink(&outside, home.files().copy(0)).unwrap();
    home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one"]);
    symlink(
        home.chats().join("session-2026-11-18T01-02-6104d0d3.jsonl"),
        home.chats().join("session-x-6104d0d3.jsonl"),
    )
    .unwrap();
    home.files().prepare(false).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
    assert_eq!((mode(&state), mode(&home.files().copy(0))), (0o700, 0o600));
    assert_eq!(messages(&home.files().copy(0)), ["one"]);
    home.begin(SAFE, &["two"]);
    home.files().prepare(true).unwrap();
    assert_eq!((mode(&home.files().replaced(0)), mode(&home.chats().join(SAFE))), (0o600, 0o600));

    fs::rename(&state, home.0.path().join("moved")).unwrap();
    symlink(home.0.path().join("moved"), &state).unwrap();
    assert!(
        matches!(home.files().prepare(false).unwrap(), PreparedFile::Uncopied(why) if why.contains("is a symbolic link"))
    );
}

#[test]
fn a_file_that_is_gone_is_restored_into_its_own_project_and_no_other() {
    let home = Home::new();
    let elsewhere = home.0.path().join(".gemini/tmp/elsewhere/chats");
    fs::create_dir_all(&elsewhere).unwrap();
    home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one", "two"]);
    home.files().prepare(false).unwrap();
    fs::remove_dir_all(home.chats()).unwrap();
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Restored, "there are two projects");
    assert_eq!(home.names().len(), 1);
    fs::remove_dir_all(home.chats()).unwrap();
    fs::write(home.0.path().join(".gemini/projects.json"), r#"{"projects": {"/elsewhere": "elsewhere"}}"#).unwrap();
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Missing, "its project is not known");
    let empty = lines(&[json!({"sessionId": ID, "projectHash": "h", "kind": "main"})]);
    fs::write(elsewhere.join("session-2026-11-18T01-03-6104d0d3.jsonl"), empty).unwrap();
    assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Missing, "an empty file is in another project");
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[test]
fn messages_are_counted_as_gemini_does() {
    let home = Home::new();
    let file = home.chats().join("session-x.jsonl");
    let lines = [
        json!({"sessionId": ID, "projectHash": "h"}),
        json!({"id": "a", "type": "user", "content": [{"text": "hello"}]}),
        json!({"id": "b", "type": "gemini", "content": "", "toolCalls": []}),
        json!({"id": "b", "type": "gemini", "content": "answer"}),
        json!({"id": "c", "type": "user", "content": "/about"}),
        json!({"id": "d", "type": "user", "content": "more"}),
        json!({"$rewindTo": "d"}),
        json!({"$set": {"lastUpdated": "now"}}),
        json!(7),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, text.join("\n")).unwrap();
    assert_eq!(ConversationContent::read(&file).unwrap().id.as_deref(), Some(ID));
    assert_eq!(messages(&file), ["a", "b"]);
}

#[test]
fn an_id_that_could_lead_elsewhere_is_not_one() {
    for id in ["", "short", "../../../../etc/passwd-and-more", "6104d0d3/1111-4222-8333"] {
        assert!(ConversationFiles::new(&QueryContext::new("/"), id).is_none(), "{id}");
    }
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[test]
fn a_file_that_is_not_understood_is_kept_as_it_is() {
    let header =
        json!({"sessionId": ID, "projectHash": "h", "kind": "main", "startTime": "now", "directories": ["/work"]});
    for (what, record) in [
        ("a message of another shape", json!({"turn": {"user": "remember the wheel"}})),
        ("a message of another type", json!({"id": "a", "type": "person", "content": "remember the wheel"})),
        ("messages in the header", json!({"sessionId": ID, "turns": ["remember the wheel"]})),
        ("a change of another kind", json!({"$set": {"turns": ["remember the wheel"]}})),
    ] {
        let home = Home::new();
        fs::write(home.chats().join("session-2026-11-18T01-02-6104d0d3.jsonl"), lines(&[header.clone(), record]))
            .unwrap();
        home.files().remove_empty();
        assert_eq!(home.names().len(), 1, "{what}");
        assert_eq!(home.files().prepare(false).unwrap(), PreparedFile::Safe, "{what}");
        assert_eq!(home.names(), [SAFE], "{what}");
        assert!(home.files().copy(0).exists(), "{what}");
    }
}

#[test]
fn only_a_file_in_which_nothing_was_said_is_deleted() {
    let header = json!({"sessionId": ID, "projectHash": "h", "kind": "main"});
    let context =
        json!({"$set": {"messages": [{"id": "c", "type": "user", "content": [{"text": "<session_context>x"}]}]}});
    let said = json!({"id": "a", "type": "user", "content": "remember the wheel"});
    for (records, kept) in [
        (vec![header.clone(), context.clone()], false),
        (vec![header.clone(), json!({"id": "a", "type": "user", "content": "/about"})], true),
        (vec![header.clone(), said, header, context], true),
    ] {
        let home = Home::new();
        fs::write(home.chats().join("session-2026-11-18T01-02-6104d0d3.jsonl"), lines(&records)).unwrap();
        home.files().remove_empty();
        assert!(home.names().is_empty(), "Gemini would delete the conversation with it");
        let aside = fs::read_to_string(home.files().replaced(0)).ok();
        assert_eq!(aside, kept.then(|| lines(&records)));
    }
}

#[test]
fn a_file_that_cannot_be_copied_is_safe_all_the_same() {
    let home = Home::new();
    fs::write(home.0.path().join("state"), "not a folder").unwrap();
    home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one"]);
    let empty = lines(&[json!({"sessionId": ID, "projectHash": "h", "kind": "main"})]);
    fs::write(home.chats().join("session-2026-11-18T01-03-6104d0d3.jsonl"), empty).unwrap();
    assert!(matches!(home.files().prepare(false).unwrap(), PreparedFile::Uncopied(_)));
    assert_eq!(home.names(), [SAFE], "it has its safe name, and the empty one is gone");
}
