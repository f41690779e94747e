//! Codex's modes: when it asks, and what its commands may reach.

use serde_json::Value;
use wh_core::space::harness::Named;
use wh_wire::codex::{Sandbox, Started};

use super::TITLE;
use crate::port::{ALLOW_SKIPPING, StartError};

/// Who is asked in all of them.
pub(super) const PERSON: &str = "user";

/// When it asks, and what its commands may reach.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub id: &'static str,
    title: &'static str,
    pub approval_policy: &'static str,
    pub sandbox: Sandbox,
    skips: bool,
}

static READ_ONLY: Mode = Mode {
    id: "read-only",
    title: "reads only, and asks where it wants more",
    approval_policy: "on-request",
    sandbox: Sandbox::ReadOnly,
    skips: false,
};

static UNTRUSTED: Mode = Mode {
    id: "untrusted",
    title: "asks before every command that is not known to be harmless",
    approval_policy: "untrusted",
    sandbox: Sandbox::WorkspaceWrite,
    skips: false,
};

/// What holds where Codex's own choice may not.
static AUTO: Mode = Mode {
    id: "auto",
    title: "works in its directory, and asks where it wants more",
    approval_policy: "on-request",
    sandbox: Sandbox::WorkspaceWrite,
    skips: false,
};

static FULL_ACCESS: Mode = Mode {
    id: "full-access",
    title: "asks nothing, and reaches everything",
    approval_policy: "never",
    sandbox: Sandbox::DangerFullAccess,
    skips: true,
};

/// The modes that there are: Codex's own presets, and one between them that asks about commands.
static MODES: [&Mode; 4] = [&READ_ONLY, &UNTRUSTED, &AUTO, &FULL_ACCESS];

/// The mode of this name, if it may be entered.
pub(super) fn find(name: &str, may_skip: bool) -> Result<&'static Mode, StartError> {
    let Some(mode) = MODES.iter().copied().find(|mode| mode.id == name) else {
        let known: Vec<&str> = MODES.iter().map(|mode| mode.id).collect();
        return Err(StartError::Unknown {
            agent: TITLE.to_owned(),
            what: "mode",
            given: name.to_owned(),
            hint: format!("it has {}", known.join(", ")),
        });
    };
    if mode.skips && !may_skip {
        return Err(StartError::SkipsPermissions {
            agent: TITLE.to_owned(),
            mode: name.to_owned(),
            hint: ALLOW_SKIPPING.to_owned(),
        });
    }
    Ok(mode)
}

/// The modes that may be entered.
pub(super) fn offered(may_skip: bool) -> Vec<Named> {
    let open = MODES.iter().filter(|mode| may_skip || !mode.skips);
    open.map(|mode| Named { id: mode.id.to_owned(), title: mode.title.to_owned() }).collect()
}

/// The mode that what holds comes down to, if it is one of ours.
pub(super) fn of(holds: &Started) -> Option<&'static Mode> {
    preset(holds).filter(|_| asks_a_person(holds))
}

/// What holds where that would skip permissions: the same with a person who is asked, if that is enough.
pub(super) fn instead(holds: &Started) -> &'static Mode {
    preset(holds).filter(|mode| !mode.skips).unwrap_or(&AUTO)
}

fn preset(holds: &Started) -> Option<&'static Mode> {
    let sandbox = holds.sandbox.as_deref();
    let same = |mode: &&Mode| holds.approval_policy == mode.approval_policy && sandbox == Some(mode.sandbox.policy());
    MODES.iter().copied().find(same)
}

/// Whether what holds lets it do things unasked: without a sandbox, without ever asking where it may write, or with another
/// model that is asked in the place of a person.
pub(super) fn skips(holds: &Started) -> bool {
    let sandbox = holds.sandbox.as_deref();
    let sandboxed = matches!(sandbox, None | Some("readOnly" | "workspaceWrite"));
    !sandboxed || !asks_a_person(holds) || (!asks(&holds.approval_policy) && sandbox != Some("readOnly"))
}

fn asks_a_person(holds: &Started) -> bool {
    holds.approvals_reviewer.as_deref().is_none_or(|reviewer| reviewer == PERSON)
}

/// Whether it ever asks about what the sandbox does not let it do. One that is set up part by part says so in a part.
fn asks(approval_policy: &Value) -> bool {
    match approval_policy {
        Value::Object(parts) => parts.get("granular").is_some_and(|parts| parts["sandbox_approval"] == true),
        word => word != "never",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_skips_permissions_is_only_for_who_may() {
        assert!(matches!(find("full-access", false), Err(StartError::SkipsPermissions { .. })));
        assert_eq!(find("full-access", true).unwrap().approval_policy, "never");
        assert!(!offered(false).iter().any(|mode| mode.id == "full-access"));
        assert_eq!(offered(true).len(), 4);
        let unknown = find("yolo", true).unwrap_err();
        assert!(unknown.hint().unwrap().contains("read-only, untrusted, auto, full-access"));
    }

    fn holds(approval_policy: Value, sandbox: &str, reviewer: Option<&str>) -> Started {
        let (sandbox, approvals_reviewer) = (Some(sandbox.to_owned()), reviewer.map(str::to_owned));
        Started { approval_policy, sandbox, approvals_reviewer, ..Started::default() }
    }

    #[test]
    fn what_holds_is_known_by_what_it_allows() {
        let holds = |policy: Value, sandbox: &str| holds(policy, sandbox, Some("user"));
        assert_eq!(of(&holds(json!("on-request"), "workspaceWrite")).unwrap().id, "auto");
        assert_eq!(of(&holds(json!({"granular": {}}), "workspaceWrite")), None);
        assert!(skips(&holds(json!("on-request"), "dangerFullAccess")));
        assert!(skips(&holds(json!("never"), "workspaceWrite")));
        assert!(skips(&holds(json!("on-request"), "externalSandbox")));
        assert!(!skips(&holds(json!("never"), "readOnly")));
        assert!(!skips(&holds(json!("on-request"), "workspaceWrite")));
        for (sandbox, asks, skipped) in
            [("workspaceWrite", false, true), ("workspaceWrite", true, false), ("readOnly", false, false)]
        {
            let policy = json!({"granular": {"sandbox_approval": asks, "rules": true, "mcp_elicitations": true}});
            assert_eq!(skips(&holds(policy, sandbox)), skipped, "{sandbox} {asks}");
        }
    }

    #[test]
    fn another_model_that_is_asked_is_no_person() {
        for (reviewer, skipped) in
            [(None, false), (Some("user"), false), (Some("auto_review"), true), (Some("x"), true)]
        {
            let holds = holds(json!("on-request"), "readOnly", reviewer);
            assert_eq!(skips(&holds), skipped, "{reviewer:?}");
            assert_eq!(of(&holds).is_none(), skipped, "it is none of ours");
            assert_eq!(instead(&holds).id, "read-only", "nothing more is allowed than before");
        }
        assert_eq!(instead(&holds(json!("never"), "dangerFullAccess", None)).id, "auto");
    }
}
