//! Sessions of several teams at the socket: seen by those who show a credential of the team, and by nobody else.

use serde_json::{Value, json};

use super::{House, stdin, with};

/// Asks with these credentials.
fn ask(house: &House, command: &str, payload: &Value, tokens: &[&str]) -> Value {
    house.talk().say(&json!({
        "version": 1, "request_id": "t", "command": command, "payload": payload, "tokens": tokens,
    }))
}

fn names(listed: &Value) -> Vec<&str> {
    let sessions = listed["payload"]["sessions"].as_array().unwrap_or_else(|| panic!("{listed}"));
    sessions.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn a_session_of_another_team_is_answered_like_one_that_does_not_exist() {
    let house = House::new();
    let eve = house.member("others", "eve");
    let mine = house.demo("mine", 0);
    let theirs = house.create(json!({ "agent": "demo", "name": "theirs", "team": "others" }));
    house.state(&theirs, "idle");

    assert_eq!(names(&ask(&house, "list", &json!({}), &[])), ["mine"]);
    assert_eq!(names(&ask(&house, "list", &json!({ "team": "others" }), &[])), [""; 0]);
    assert_eq!(names(&ask(&house, "list", &json!({}), &[&eve])), ["mine", "theirs"]);
    assert_eq!(names(&ask(&house, "list", &json!({ "team": "others" }), &[&eve])), ["theirs"]);
    for wanted in [&theirs.id, &theirs.name] {
        for (command, more) in [
            ("session", json!({})),
            ("subscribe", json!({})),
            ("attach", json!({ "size": { "width": 80, "height": 24 } })),
        ] {
            let asked = |id: &str, tokens: &[&str]| {
                ask(&house, command, &with(more.clone(), json!({ "session_id": id })), tokens)
            };
            let unknown = asked("nobody", &[]).to_string().replace("nobody", wanted);
            assert_eq!(asked(wanted, &[]).to_string(), unknown, "{command}");
            assert_eq!(asked(wanted, &["forged", &eve])["status"], "ok", "{command}");
        }
    }
    // A control message under the name of one's own team.
    let own = house.credential("default", "local");
    let control = |id: &str| {
        let payload = with(stdin(&mine, "r1", "hello"), json!({ "session_id": id, "agent_id": format!("demo:{id}") }));
        let ack = house.talk().control(&payload, &own);
        assert_eq!((&ack["result"], &ack["error"]), (&json!("not_found"), &json!("no_session")), "{ack}");
        ack["detail"].as_str().unwrap().replace(id, "ID")
    };
    assert_eq!(control(&theirs.id), control("nobody"));
    // The same with a role whose rules name a session.
    let path = house.root().join("config/wheelhouse/teams/default/config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config["roles"] = json!({ "narrow": { "allow": ["stdin@mine"] } });
    config["members"][0]["role"] = json!("narrow");
    std::fs::write(&path, config.to_string()).unwrap();
    let refused = |id: &str| {
        let payload = with(stdin(&mine, "r2", "x"), json!({ "session_id": id, "agent_id": format!("demo:{id}") }));
        let ack = house.talk().control(&payload, &own);
        (ack["result"].clone(), ack["error"].clone(), ack["detail"].as_str().unwrap().replace(id, "ID"))
    };
    assert_eq!(refused(&theirs.id), refused("nobody"));
}

#[test]
fn a_session_for_another_team_needs_its_credential_and_wh_shows_what_it_can_read() {
    let house = House::new();
    let eve = house.member("others", "eve");
    let wanted = |team: &str| json!({ "command": ["cat"], "name": "theirs", "team": team, "cwd": house.work() });
    for team in ["others", "nobodys"] {
        let answer = ask(&house, "create", &wanted(team), &[]);
        let text = answer["error"]["message"].as_str().unwrap().replace(team, "TEAM");
        assert_eq!(answer["error"]["code"], "UNAUTHORIZED", "{answer}");
        assert_eq!(text, "a session of team \"TEAM\" needs the token of one of its members");
    }
    let made = ask(&house, "create", &wanted("others"), &[&eve]);
    assert_eq!(made["payload"]["session"]["team"], "others", "{made}");
    // wh's own commands find it as before.
    assert!(house.ok(&["ls"]).contains("theirs"));
    let ack = house.ok(&["control", "send", "theirs", "hello\n", "--as", "eve", "--json", "--timeout", "30"]);
    assert!(ack.contains(r#""result":"ok""#), "{ack}");
    assert!(house.fails(&["control", "send", "nobody", "hello"]).1.contains("there is no session"));
}
