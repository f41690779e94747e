//! What the demo agent can be set to: how it thinks, and what it may do.

use wh_core::space::harness::Named;

/// How it thinks and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Model {
    #[default]
    Swift,
    Steady,
    Brief,
}

/// What it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    Ask,
    Edit,
    Plan,
}

const MODELS: [(Model, &str, &str); 3] = [
    (Model::Swift, "swift", "Swift: a short thought, a short answer"),
    (Model::Steady, "steady", "Steady: thinks it over first"),
    (Model::Brief, "brief", "Brief: no thought, one sentence"),
];

const MODES: [(Mode, &str, &str); 3] = [
    (Mode::Ask, "ask", "Asks before it edits or runs anything"),
    (Mode::Edit, "edit", "Edits its own files without asking"),
    (Mode::Plan, "plan", "Changes nothing"),
];

/// What it can be set to, and goes back to when it begins anew.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Character {
    pub model: Model,
    pub mode: Mode,
}

fn named<T: Copy>(list: &[(T, &str, &str)]) -> Vec<Named> {
    list.iter().map(|(_, id, title)| Named { id: (*id).to_owned(), title: (*title).to_owned() }).collect()
}

/// The models that there are.
pub(super) fn models() -> Vec<Named> {
    named(&MODELS)
}

/// The modes that there are.
pub(super) fn modes() -> Vec<Named> {
    named(&MODES)
}

/// What can be chosen, in words.
pub(super) fn known(list: &[Named]) -> String {
    format!("it has {}", list.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join(", "))
}

impl Model {
    pub fn named(id: &str) -> Option<Self> {
        MODELS.iter().find(|(_, known, _)| *known == id).map(|(model, ..)| *model)
    }

    pub fn id(self) -> &'static str {
        MODELS.iter().find(|(model, ..)| *model == self).map_or("", |(_, id, _)| id)
    }
}

impl Mode {
    pub fn named(id: &str) -> Option<Self> {
        MODES.iter().find(|(_, known, _)| *known == id).map(|(mode, ..)| *mode)
    }

    pub fn id(self) -> &'static str {
        MODES.iter().find(|(mode, ..)| *mode == self).map_or("", |(_, id, _)| id)
    }
}
