//! Sessions of several teams at the socket: visible only with a credential of the team.

use serde_json::{Value, json};

use super::{TestDaemon, stdin, with};

/// Sends a request with these credentials.
fn ask(daemon: &TestDaemon, command: &str, payload: &Value, tokens: &[&str]) -> Value {
    daemon.connect().say(&json!({
        "version": 1, "request_id": "t", "command": command, "payload": payload, "tokens": tokens,
    }))
}

fn names(listed: &Value) -> Vec<&str> {
    let sessions = listed["payload"]["sessions"].as_array().unwrap_or_else(|| panic!("{listed}"));
    sessions.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn a_session_of_another_team_is_reported_as_missing() {
    let daemon = TestDaemon::new();
    let eve = daemon.member("others", "eve");
    let mine = daemon.demo("mine", 0);
    let theirs = daemon.create(json!({ "agent": "demo", "name": "theirs", "team": "others" }));
    daemon.state(&theirs, "idle");

    assert_eq!(names(&ask(&daemon, "list", &json!({}), &[])), ["mine"]);
    assert_eq!(names(&ask(&daemon, "list", &json!({ "team": "others" }), &[])), [""; 0]);
    assert_eq!(names(&ask(&daemon, "list", &json!({}), &[&eve])), ["mine", "theirs"]);
    assert_eq!(names(&ask(&daemon, "list", &json!({ "team": "others" }), &[&eve])), ["theirs"]);
    for wanted in [&theirs.id, &theirs.name] {
        for (command, more) in [
            ("session", json!({})),
            ("subscribe", json!({})),
            ("attach", json!({ "size": { "width": 80, "height": 24 } })),
        ] {
            let asked = |id: &str, tokens: &[&str]| {
                ask(&daemon, command, &with(more.clone(), json!({ "session_id": id })), tokens)
            };
            let unknown = asked("nobody", &[]).to_string().replace("nobody", wanted);
            assert_eq!(asked(wanted, &[]).to_string(), unknown, "{command}");
            assert_eq!(asked(wanted, &["forged", &eve])["status"], "ok", "{command}");
        }
    }
    // A control message with the sender's own team.
    let own = daemon.credential("default", "local");
    let control = |id: &str| {
        let payload = with(stdin(&mine, "r1", "hello"), json!({ "session_id": id, "agent_id": format!("demo:{id}") }));
        let ack = daemon.connect().control(&payload, &own);
        assert_eq!((&ack["result"], &ack["error"]), (&json!("not_found"), &json!("no_session")), "{ack}");
        ack["detail"].as_str().unwrap().replace(id, "ID")
    };
    assert_eq!(control(&theirs.id), control("nobody"));
    // The same with a role that has rules for a session.
    let path = daemon.root().join("config/wheelhouse/teams/default/config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config["roles"] = json!({ "narrow": { "allow": ["stdin@mine"] } });
    config["members"][0]["role"] = json!("narrow");
    std::fs::write(&path, config.to_string()).unwrap();
    let refused = |id: &str| {
        let payload = with(stdin(&mine, "r2", "x"), json!({ "session_id": id, "agent_id": format!("demo:{id}") }));
        let ack = daemon.connect().control(&payload, &own);
        (ack["result"].clone(), ack["error"].clone(), ack["detail"].as_str().unwrap().replace(id, "ID"))
    };
    assert_eq!(refused(&theirs.id), refused("nobody"));
}

#[test]
fn creating_a_session_for_a_team_requires_a_credential_of_the_team() {
    let daemon = TestDaemon::new();
    let eve = daemon.member("others", "eve");
    let wanted = |team: &str| json!({ "command": ["cat"], "name": "theirs", "team": team, "cwd": daemon.work() });
    for team in ["others", "nobodys"] {
        let answer = ask(&daemon, "create", &wanted(team), &[]);
        let text = answer["error"]["message"].as_str().unwrap().replace(team, "TEAM");
        assert_eq!(answer["error"]["code"], "UNAUTHORIZED", "{answer}");
        assert_eq!(text, "a session of team \"TEAM\" requires a credential of a member of that team");
    }
    let made = ask(&daemon, "create", &wanted("others"), &[&eve]);
    assert_eq!(made["payload"]["session"]["team"], "others", "{made}");
    // wh commands still find the session.
    assert!(daemon.ok(&["ls"]).contains("theirs"));
    let ack = daemon.ok(&["control", "send", "theirs", "hello\n", "--as", "eve", "--json", "--timeout", "30"]);
    assert!(ack.contains(r#""result":"ok""#), "{ack}");
    assert!(daemon.fails(&["control", "send", "nobody", "hello"]).1.contains("there is no session"));
}
