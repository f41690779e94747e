//! Permission modes of Codex: combinations of approval policy and sandbox.

use serde_json::Value;
use wh_core::space::harness::AgentOption;
use wh_wire::codex::{Sandbox, StartedThread};

use super::TITLE;
use crate::interface::{ALLOW_SKIPPING, AgentStartError};

/// Value of Codex's setting `approvals_reviewer`, the same in all modes: the user decides on approvals.
pub(super) const USER_REVIEWER: &str = "user";

/// Permission mode: an approval policy with a sandbox.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CodexMode {
    pub id: &'static str,
    title: &'static str,
    pub approval_policy: &'static str,
    pub sandbox: Sandbox,
    skips: bool,
}

static READ_ONLY: CodexMode = CodexMode {
    id: "read-only",
    title: "reads only; asks for anything else",
    approval_policy: "on-request",
    sandbox: Sandbox::ReadOnly,
    skips: false,
};

static UNTRUSTED: CodexMode = CodexMode {
    id: "untrusted",
    title: "asks before every command that is not known to be safe",
    approval_policy: "untrusted",
    sandbox: Sandbox::WorkspaceWrite,
    skips: false,
};

/// Replacement for a mode that skips permissions, if Codex's own configuration selects such a mode.
static AUTO: CodexMode = CodexMode {
    id: "auto",
    title: "works in its directory; asks for anything else",
    approval_policy: "on-request",
    sandbox: Sandbox::WorkspaceWrite,
    skips: false,
};

static FULL_ACCESS: CodexMode = CodexMode {
    id: "full-access",
    title: "never asks, with full access",
    approval_policy: "never",
    sandbox: Sandbox::DangerFullAccess,
    skips: true,
};

/// All modes: Codex's presets, and `untrusted`, which asks before commands that are not known to be safe.
static MODES: [&CodexMode; 4] = [&READ_ONLY, &UNTRUSTED, &AUTO, &FULL_ACCESS];

/// Finds a mode by name. Fails if the mode is unknown or if it skips permissions and `may_skip` is false.
pub(super) fn find(name: &str, may_skip: bool) -> Result<&'static CodexMode, AgentStartError> {
    let Some(mode) = MODES.iter().copied().find(|mode| mode.id == name) else {
        let known: Vec<&str> = MODES.iter().map(|mode| mode.id).collect();
        return Err(AgentStartError::Unknown {
            agent: TITLE.to_owned(),
            what: "mode",
            given: name.to_owned(),
            hint: format!("available modes: {}", known.join(", ")),
        });
    };
    if mode.skips && !may_skip {
        return Err(AgentStartError::SkipsPermissions {
            agent: TITLE.to_owned(),
            mode: name.to_owned(),
            hint: ALLOW_SKIPPING.to_owned(),
        });
    }
    Ok(mode)
}

/// Returns the available modes. Modes that skip permissions are included only if `may_skip` is true.
pub(super) fn offered(may_skip: bool) -> Vec<AgentOption> {
    let open = MODES.iter().filter(|mode| may_skip || !mode.skips);
    open.map(|mode| AgentOption { id: mode.id.to_owned(), title: mode.title.to_owned() }).collect()
}

/// Returns the mode that matches the settings; `None` for custom settings.
pub(super) fn matching(settings: &StartedThread) -> Option<&'static CodexMode> {
    preset(settings).filter(|_| user_is_reviewer(settings))
}

/// Returns the mode that replaces settings that skip permissions: the same preset with the user as reviewer, or
/// [`AUTO`].
pub(super) fn replacement(settings: &StartedThread) -> &'static CodexMode {
    preset(settings).filter(|mode| !mode.skips).unwrap_or(&AUTO)
}

fn preset(settings: &StartedThread) -> Option<&'static CodexMode> {
    let sandbox = settings.sandbox.as_deref();
    let same =
        |mode: &&CodexMode| settings.approval_policy == mode.approval_policy && sandbox == Some(mode.sandbox.policy());
    MODES.iter().copied().find(same)
}

/// Returns true if the settings skip permissions. There are three cases: there is no sandbox, the reviewer is not the
/// user, or Codex may write files and never asks for approval.
pub(super) fn skips(settings: &StartedThread) -> bool {
    let sandbox = settings.sandbox.as_deref();
    let sandboxed = matches!(sandbox, None | Some("readOnly" | "workspaceWrite"));
    !sandboxed || !user_is_reviewer(settings) || (!asks(&settings.approval_policy) && sandbox != Some("readOnly"))
}

fn user_is_reviewer(settings: &StartedThread) -> bool {
    settings.approvals_reviewer.as_deref().is_none_or(|reviewer| reviewer == USER_REVIEWER)
}

/// Returns true if the policy requires approval for actions outside of the sandbox. A granular policy has a separate
/// field for such actions.
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
        assert!(matches!(find("full-access", false), Err(AgentStartError::SkipsPermissions { .. })));
        assert_eq!(find("full-access", true).unwrap().approval_policy, "never");
        assert!(!offered(false).iter().any(|mode| mode.id == "full-access"));
        assert_eq!(offered(true).len(), 4);
        let unknown = find("yolo", true).unwrap_err();
        assert!(unknown.hint().unwrap().contains("read-only, untrusted, auto, full-access"));
    }

    fn settings(approval_policy: Value, sandbox: &str, reviewer: Option<&str>) -> StartedThread {
        let (sandbox, approvals_reviewer) = (Some(sandbox.to_owned()), reviewer.map(str::to_owned));
        StartedThread { approval_policy, sandbox, approvals_reviewer, ..StartedThread::default() }
    }

    #[test]
    fn what_holds_is_known_by_what_it_allows() {
        let settings = |policy: Value, sandbox: &str| settings(policy, sandbox, Some("user"));
        assert_eq!(matching(&settings(json!("on-request"), "workspaceWrite")).unwrap().id, "auto");
        assert_eq!(matching(&settings(json!({"granular": {}}), "workspaceWrite")), None);
        assert!(skips(&settings(json!("on-request"), "dangerFullAccess")));
        assert!(skips(&settings(json!("never"), "workspaceWrite")));
        assert!(skips(&settings(json!("on-request"), "externalSandbox")));
        assert!(!skips(&settings(json!("never"), "readOnly")));
        assert!(!skips(&settings(json!("on-request"), "workspaceWrite")));
        for (sandbox, asks, skipped) in
            [("workspaceWrite", false, true), ("workspaceWrite", true, false), ("readOnly", false, false)]
        {
            let policy = json!({"granular": {"sandbox_approval": asks, "rules": true, "mcp_elicitations": true}});
            assert_eq!(skips(&settings(policy, sandbox)), skipped, "{sandbox} {asks}");
        }
    }

    #[test]
    fn another_model_that_is_asked_is_no_person() {
        for (reviewer, skipped) in
            [(None, false), (Some("user"), false), (Some("auto_review"), true), (Some("x"), true)]
        {
            let settings = settings(json!("on-request"), "readOnly", reviewer);
            assert_eq!(skips(&settings), skipped, "{reviewer:?}");
            assert_eq!(matching(&settings).is_none(), skipped, "it is none of ours");
            assert_eq!(replacement(&settings).id, "read-only", "nothing more is allowed than before");
        }
        assert_eq!(replacement(&settings(json!("never"), "dangerFullAccess", None)).id, "auto");
    }
}
