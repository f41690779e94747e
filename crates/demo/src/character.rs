//! Settings of the demo agent: the model and the mode.

use wh_core::space::harness::AgentOption;

/// Model of the demo agent. Determines the length of thoughts and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DemoModel {
    #[default]
    Swift,
    Steady,
    Brief,
}

/// Mode of the demo agent. Determines which actions require a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DemoMode {
    #[default]
    Ask,
    Edit,
    Plan,
}

const MODELS: [(DemoModel, &str, &str); 3] = [
    (DemoModel::Swift, "swift", "Swift: a short thought, a short answer"),
    (DemoModel::Steady, "steady", "Steady: a long thought before the answer"),
    (DemoModel::Brief, "brief", "Brief: no thought, one sentence"),
];

const MODES: [(DemoMode, &str, &str); 3] = [
    (DemoMode::Ask, "ask", "Asks before it edits or runs anything"),
    (DemoMode::Edit, "edit", "Edits its own files without asking"),
    (DemoMode::Plan, "plan", "Changes nothing"),
];

/// Selected model and mode. A restart of the agent resets both.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DemoSettings {
    pub model: DemoModel,
    pub mode: DemoMode,
}

fn named<T: Copy>(list: &[(T, &str, &str)]) -> Vec<AgentOption> {
    list.iter().map(|(_, id, title)| AgentOption { id: (*id).to_owned(), title: (*title).to_owned() }).collect()
}

pub(super) fn models() -> Vec<AgentOption> {
    named(&MODELS)
}

pub(super) fn modes() -> Vec<AgentOption> {
    named(&MODES)
}

/// Formats the valid ids for an error message.
pub(super) fn known(list: &[AgentOption]) -> String {
    format!("it has {}", list.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join(", "))
}

impl DemoModel {
    pub fn named(id: &str) -> Option<Self> {
        MODELS.iter().find(|(_, known, _)| *known == id).map(|(model, ..)| *model)
    }

    pub fn id(self) -> &'static str {
        MODELS.iter().find(|(model, ..)| *model == self).map_or("", |(_, id, _)| id)
    }
}

impl DemoMode {
    pub fn named(id: &str) -> Option<Self> {
        MODES.iter().find(|(_, known, _)| *known == id).map(|(mode, ..)| *mode)
    }

    pub fn id(self) -> &'static str {
        MODES.iter().find(|(mode, ..)| *mode == self).map_or("", |(_, id, _)| id)
    }
}
