//! Callers inside a session may only answer questions of sessions that they created. All processes run as an
//! unprivileged user.

use std::fs;

use serde_json::{Value, json};
use wh_testkit::{eventually, tools};

use crate::WH;

use super::TestDaemon;

/// Agent Client Protocol agent that asks for a permission and then runs a script as its tool. The prompt `run NAME`
/// selects the script in the agent's directory; its output is written to `NAME.out` at its end.
pub(super) const ASKING: &str = r#"#!/bin/bash
export SCRIPTS=${0%/*}
case $1 in --version) echo "asking 1"; exit;; esac
send() { echo "{\"jsonrpc\":\"2.0\",$1}"; }
while read -r line; do
  id=; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"initialize"'*) send "\"id\":$id,\"result\":{\"protocolVersion\":1}";;
    *'"session/new"'*) send "\"id\":$id,\"result\":{\"sessionId\":\"s\"}";;
    *'"session/prompt"'*)
      prompt=$id
      send '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"try","kind":"execute","status":"pending"}}'
      send '"id":900,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t1"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}'
      [[ $line =~ \"text\":\"run\ ([a-z0-9-]+)\" ]] && (bash "$SCRIPTS/${BASH_REMATCH[1]}" > "$SCRIPTS/${BASH_REMATCH[1]}.new" 2>&1; mv "$SCRIPTS/${BASH_REMATCH[1]}.new" "$SCRIPTS/${BASH_REMATCH[1]}.out") < /dev/null & ;;
    *'"optionId":"'*|*'"outcome"'*) send "\"id\":$prompt,\"result\":{\"stopReason\":\"end_turn\"}";;
  esac
done
"#;

/// Daemon of an unprivileged user with the agent `asking`.
struct Stage(TestDaemon);

impl Stage {
    fn new() -> Option<Self> {
        if !tools::present(&["bash", "python3"]) {
            return None;
        }
        let mut daemon = TestDaemon::unprivileged([]);
        Self::prepare(&daemon);
        daemon.start();
        Some(Self(daemon))
    }

    /// Writes the agent and its `agents.toml`.
    fn prepare(daemon: &TestDaemon) {
        daemon.add_agent("asking", ASKING);
        daemon.script("inside.py", include_str!("inside.py"));
    }

    /// Creates a session whose agent asks a question. Returns the session, the agent id and the question.
    fn asks(&self, name: &str, script: Option<&str>) -> (String, String, String) {
        let made: Value =
            serde_json::from_str(&self.0.ok(&["new", "--agent", "asking", "--name", name, "--json"])).unwrap();
        self.prompt(name, script);
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        (text("session_id"), text("agent_id"), self.question(name))
    }

    fn prompt(&self, name: &str, script: Option<&str>) {
        self.0.ok(&["wait", name, "idle", "--timeout", "60s"]);
        self.0.ok(&["send", name, &script.map_or("hello".to_owned(), |script| format!("run {script}"))]);
    }

    fn open_questions(&self, name: &str) -> Vec<String> {
        let body: Value = serde_json::from_str(&self.0.ok(&["answer", name, "--json"])).unwrap();
        let all = body["questions"].as_array().unwrap().iter();
        all.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    }

    fn question(&self, name: &str) -> String {
        eventually("a question is open", || self.open_questions(name).pop())
    }

    /// Waits for the end of a script and returns its output.
    fn printed(&self, script: &str) -> String {
        let path = self.0.root().join(format!("{script}.out"));
        eventually("the script has ended", || fs::read_to_string(&path).ok())
    }

    /// Types a command into a shell session and returns its output.
    fn types(&self, shell: &str, name: &str, command: &str) -> String {
        let out = self.0.root().join(name).display().to_string();
        let line = format!("{command} > {out}.new 2>&1; mv {out}.new {out}.out");
        self.0.ok(&["send", shell, &line, "--key", "enter"]);
        self.printed(name)
    }

    fn audited(&self, code: &str) -> usize {
        let printed = self.0.ok(&["audit", "--json", "-n", "1000"]);
        printed.lines().filter(|line| line.contains(&format!("\"error\":{}", json!(code)))).count()
    }
}

/// Returns the values of the lines with this name.
fn lines<'a>(printed: &'a str, name: &str) -> Vec<&'a str> {
    printed.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect()
}

/// Returns the value of the only line with this name.
#[track_caller]
pub(super) fn line<'a>(printed: &'a str, name: &str) -> &'a str {
    let found = lines(printed, name);
    assert_eq!(found.len(), 1, "{name} in {printed}");
    found[0]
}

#[test]
fn a_session_cannot_answer_its_own_question_by_any_means() {
    let Some(stage) = Stage::new() else { return };
    let ways =
        "s_plain h_plain h_source s_comm h_comm h_undumpable h_scm h_thread s_race s_race s_race s_mem s_newsession";
    let script = format!(
        r#"until "$WH" answer own | grep -q yes; do :; done
q=$("$WH" answer own | head -n 1 | cut -d ' ' -f 1)
python3 "$SCRIPTS/inside.py" "$WH_SESSION" "asking:$WH_SESSION" "$q" {ways}
echo "command: $("$WH" send own '/mode yolo' 2>&1 | tr '\n' ' ')"
"#
    );
    stage.0.script("tricks", &script);
    let (_, _, question) = stage.asks("own", Some("tricks"));
    let printed = stage.printed("tricks");
    for (way, times) in [("s_plain", 1), ("s_comm", 1), ("s_race", 3), ("s_mem", 1)] {
        let all = lines(&printed, way);
        assert_eq!(all.len(), times, "{way} in {printed}");
        let expected = if way == "s_race" { &["own_question", "untraceable"][..] } else { &["own_question"] };
        for answered in all {
            let (_, ack) = answered.split_once('{').unwrap_or_else(|| panic!("{way}: {answered}"));
            let ack: Value = serde_json::from_str(&format!("{{{ack}")).unwrap();
            let (result, error) = (&ack["payload"]["result"], ack["payload"]["error"].as_str().unwrap_or_default());
            assert!(result == "rejected" && expected.contains(&error), "{way}: {answered} in {printed}");
        }
    }
    for (way, word) in [
        ("h_plain", "Own question"),
        ("h_source", "Own question"),
        ("h_comm", "Own question"),
        ("h_thread", "Own question"),
        ("h_undumpable", "Untraceable caller"),
        ("h_scm", "Untraceable caller"),
    ] {
        let answered = line(&printed, way);
        assert!(answered.starts_with("403 ") && answered.contains(word), "{way}: {answered} in {printed}");
    }
    assert!(line(&printed, "s_mem").starts_with("supervisor denied"), "{printed}");
    assert!(line(&printed, "s_newsession").contains("did not create"), "{printed}");
    assert!(line(&printed, "command").contains("may not answer"), "{printed}");
    assert!(printed.lines().count() == 14, "{printed}");
    eventually("every refusal is written down", || {
        (stage.audited("own_question") >= 8 && stage.audited("inside_session") >= 1).then_some(())
    });
    // The question is still open, and a caller outside can answer it.
    assert_eq!(stage.question("own"), question);
    stage.0.ok(&["answer", "own", &question, "yes"]);
    stage.0.ok(&["wait", "own", "idle", "--timeout", "60s"]);
}

#[test]
fn two_agents_cannot_answer_each_others_questions() {
    let Some(stage) = Stage::new() else { return };
    let script = |other: &str, id: &str, question: &str| {
        format!(
            r#"python3 "$SCRIPTS/inside.py" {id} asking:{id} {question} s_plain h_plain h_comm
echo "typed: $("$WH" key {other} enter 2>&1 | tr '\n' ' ')"
"#
        )
    };
    let (second, _, of_second) = stage.asks("second", None);
    stage.0.script("first-tries", &script("second", &second, &of_second));
    let (first, _, of_first) = stage.asks("first", Some("first-tries"));
    let by_first = stage.printed("first-tries");
    assert_eq!(stage.question("second"), of_second);
    stage.0.ok(&["interrupt", "second"]);
    let says = r#"echo "said: $("$WH" send first hello 2>&1 | tr '\n' ' ')""#;
    stage.0.script("second-tries", &format!("{}{says}", script("first", &first, &of_first)));
    stage.prompt("second", Some("second-tries"));
    let by_second = stage.printed("second-tries");
    assert_eq!(stage.question("first"), of_first);
    for printed in [&by_first, &by_second] {
        assert!(line(printed, "s_plain").contains("inside_session"), "{printed}");
        for way in ["h_plain", "h_comm"] {
            let answered = line(printed, way);
            assert!(answered.starts_with("403 ") && answered.contains("Inside a session"), "{way}: {answered}");
        }
        assert!(line(printed, "typed").contains("did not create"), "{printed}");
    }
    // Sessions may send messages to each other, which answers no question.
    assert!(line(&by_second, "said").starts_with("sent"), "{by_second}");
}

#[test]
fn a_shell_answers_sessions_that_it_created_and_they_cannot_type_into_it() {
    let Some(stage) = Stage::new() else { return };
    let (_, _, foreign) = stage.asks("foreign", None);
    stage.0.ok(&["new", "--name", "shell", "--", "bash", "--norc"]);
    stage.0.script(
        "orders",
        r#"echo "http: $("$WH" send shell '$WH answer child q yes' --key enter 2>&1 | tr '\n' ' ')"
echo "socket: $("$WH" control send shell 'answer' --retries 0 --json 2>&1 | tr '\n' ' ')"
echo "person: $("$WH" new --person -- true 2>&1 | tr '\n' ' ')"
"#,
    );
    // The session's environment variable is not trusted, whether inherited or forged.
    let made = stage.types("shell", "made", "WH_SESSION=forged \"$WH\" new --agent asking --name child --json");
    let made: Value = serde_json::from_str(&made).unwrap_or_else(|error| panic!("{error}: {made}"));
    let shell: Value = serde_json::from_str(&stage.0.ok(&["new", "--name", "other", "--json", "--", "cat"])).unwrap();
    assert!(made["created_by"].is_string() && shell["created_by"].is_null(), "{made} {shell}");
    stage.prompt("child", Some("orders"));
    let question = stage.question("child");
    let printed = stage.printed("orders");
    assert!(line(&printed, "http").contains("did not create"), "{printed}");
    assert!(line(&printed, "socket").contains("inside_session"), "{printed}");
    assert!(line(&printed, "person").contains("outside every session"), "{printed}");

    let refused = stage.types("shell", "refused", &format!("\"$WH\" answer foreign {foreign} yes"));
    assert!(refused.contains("did not create"), "{refused}");
    let answered = stage.types("shell", "answered", &format!("\"$WH\" answer child {question} yes"));
    assert!(answered.contains("answered"), "{answered}");

    // A single run counts as a session too, and this daemon does not know its descendants.
    let out = stage.0.root().join("run").display().to_string();
    let answer = format!("\"$WH\" answer foreign {foreign} yes > {out} 2>&1");
    stage.0.fails(&["run", "--headless", "--", "bash", "-c", &answer]);
    let said = fs::read_to_string(&out).unwrap();
    assert!(said.contains("did not create"), "{said}");

    // A TCP caller that the daemon cannot inspect (here root) may answer nothing and does not count as a person.
    if nix::unistd::geteuid().is_root() {
        let answer = stage.0.post("/sessions/foreign/control/answer", json!({ "id": foreign, "option": "yes" }));
        assert_eq!((answer.status, &answer.json()["error"]), (403, &json!("Untraceable caller")), "{}", answer.text());
        let create = stage.0.post("/sessions", json!({ "command": ["true"], "person": true, "cwd": "/" }));
        assert_eq!((create.status, &create.json()["error"]), (403, &json!("Not outside")), "{}", create.text());
    }

    // A person's shell counts as outside. Callers inside a session may not type into it.
    let (code, said) = stage.0.fails(&["new", "--person", "--agent", "asking"]);
    assert!(code == 2 && said.contains("--person"), "{said}");
    let person: Value =
        serde_json::from_str(&stage.0.ok(&["new", "--person", "--name", "mine", "--json", "--", "bash", "--norc"]))
            .unwrap();
    assert_eq!(person["person"], true);
    let answered = stage.types("mine", "as-person", &format!("\"$WH\" answer foreign {foreign} yes"));
    assert!(answered.contains("answered"), "{answered}");
    let typed = stage.types("shell", "to-person", "\"$WH\" send mine 'echo typed' --key enter");
    assert!(typed.contains("did not create"), "{typed}");
}

#[test]
fn callers_inside_a_single_run_cannot_answer_or_type() {
    if !tools::present(&["bash", "python3"]) {
        return;
    }
    let daemon = TestDaemon::unprivileged([]);
    Stage::prepare(&daemon);
    let token = daemon.script("token", "a-token-of-the-test\n");
    let token = token.display().to_string();
    let tries = |flags: &str| {
        format!(
            r#"until "$WH" screen {flags} > /dev/null 2>&1; do :; done
echo "typed: $("$WH" send hello {flags} 2>&1 | tr '\n' ' ')"
echo "keyed: $("$WH" key enter {flags} 2>&1 | tr '\n' ' ')"
"#
        )
    };
    for (name, flags, door) in [
        ("open", String::new(), vec![]),
        ("locked", format!("--token-file {token}"), vec!["--control-token-file", token.as_str()]),
    ] {
        let script = daemon.script(name, &tries(&flags)).display().to_string();
        let out = daemon.root().join(format!("{name}.out")).display().to_string();
        let command = format!("bash {script} > {out}");
        let mut arguments = vec!["run", "--headless", "--control-port", "0"];
        arguments.extend(door);
        arguments.extend(["--", "bash", "-c", &command]);
        daemon.ok(&arguments);
        let printed = fs::read_to_string(&out).unwrap();
        for way in ["typed", "keyed"] {
            assert!(line(&printed, way).contains("may not answer"), "{name}: {printed}");
        }
    }

    // An agent of `wh` without a daemon.
    let more = r#"until "$WH" answer - | grep -q yes; do :; done
q=$("$WH" answer - | head -n 1 | cut -d ' ' -f 1)
echo "answered: $("$WH" answer - "$q" yes 2>&1 | tr '\n' ' ')"
echo "commanded: $("$WH" send '/mode x' --key enter 2>&1 | tr '\n' ' ')"
"#;
    daemon.script("space", &format!("{}{more}", tries("")));
    let mut space =
        daemon.wh(&["space", "connect", "--headless", "--control-port", "0", "--agent", "asking"]).spawn().unwrap();
    let stage = Stage(daemon);
    eventually("the agent is ready", || {
        let output = stage.0.run(&["send", "run space", "--key", "enter"]);
        (output.status.success() && !stage.open_questions("-").is_empty()).then_some(())
    });
    let printed = stage.printed("space");
    for way in ["typed", "keyed", "answered", "commanded"] {
        assert!(line(&printed, way).contains("may not answer"), "{way}: {printed}");
    }
    let question = stage.question("-");
    stage.0.ok(&["answer", "-", &question, "yes"]);
    wh_testkit::process::terminate(&mut space, std::time::Duration::from_secs(20)).unwrap();
}

#[test]
fn callers_inside_a_single_run_cannot_set_mode_or_arguments_of_a_new_agent() {
    let daemon = TestDaemon::with([("WH".to_owned(), WH.to_owned())]);
    let tries = r#"echo "mode: $("$WH" new --agent demo --mode careful 2>&1 | tr '\n' ' ')"
echo "arguments: $("$WH" new --agent demo -- --pace 0 2>&1 | tr '\n' ' ')"
echo "neither: $("$WH" new --agent demo --name plain 2>&1 | tr '\n' ' ')"
"#;
    let script = daemon.script("tries", tries).display().to_string();
    let out = daemon.root().join("tries.out").display().to_string();
    daemon.ok(&["run", "--headless", "--", "bash", "-c", &format!("bash {script} > {out}")]);
    let printed = fs::read_to_string(&out).unwrap();
    for way in ["mode", "arguments"] {
        assert!(line(&printed, way).contains("inside a session"), "{way}: {printed}");
    }
    assert!(line(&printed, "neither").starts_with("plain ("), "{printed}");
}
