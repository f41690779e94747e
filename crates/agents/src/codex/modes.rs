//! Codex's modes: when it asks, and what its commands may reach.

use serde_json::Value;
use wh_core::space::harness::Named;
use wh_wire::codex::Sandbox;

use super::TITLE;
use crate::port::StartError;

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
pub(super) static AUTO: Mode = Mode {
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
            hint: "start wh with --allow-skipping-permissions".to_owned(),
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
pub(super) fn of(approval_policy: &Value, sandbox: Option<&str>) -> Option<&'static Mode> {
    let same = |mode: &&Mode| approval_policy == mode.approval_policy && sandbox == Some(mode.sandbox.policy());
    MODES.iter().copied().find(same)
}

/// Whether what holds lets it do things unasked: without a sandbox, or without ever asking where it may write.
pub(super) fn skips(approval_policy: &Value, sandbox: Option<&str>) -> bool {
    let sandboxed = matches!(sandbox, None | Some("readOnly" | "workspaceWrite"));
    !sandboxed || (approval_policy == "never" && sandbox != Some("readOnly"))
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

    #[test]
    fn what_holds_is_known_by_what_it_allows() {
        assert_eq!(of(&json!("on-request"), Some("workspaceWrite")).unwrap().id, "auto");
        assert_eq!(of(&json!({"granular": {}}), Some("workspaceWrite")), None);
        assert!(skips(&json!("on-request"), Some("dangerFullAccess")));
        assert!(skips(&json!("never"), Some("workspaceWrite")));
        assert!(skips(&json!("on-request"), Some("externalSandbox")));
        assert!(!skips(&json!("never"), Some("readOnly")) && !skips(&json!("on-request"), Some("workspaceWrite")));
    }
}
