//! Lists from which the user chooses agents, models, modes and saved conversations. Models and modes come from the
//! mirrored state. Agents and conversations are queried from the space when the list opens.

use std::time::SystemTime;

use wh_core::input::Gesture;
use wh_core::slash::PaneName;
use wh_core::space::command::{ConversationCommand, Setting, SpaceRefusal, TargetCommand};
use wh_core::space::event::{Activity, ParticipantRole};
use wh_core::space::extent::TextPiece;
use wh_core::space::harness::AgentOption;
use wh_core::space::roster::{AgentCard, ConversationCard, LoginState};
use wh_core::space::state::{Participant, SpaceState};
use wh_core::space::{ItemId, ParticipantId};

use super::{App, AppEffect, SentCommand};
use crate::picker::{Picker, PickerOutcome, PickerRow};

/// Kind of list that the user chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickerKind {
    /// List of agents. Chat is sent to the chosen agent.
    Agent,
    /// List of the models of the addressed agent.
    Model,
    /// List of the modes of the addressed agent.
    Mode,
    /// List of the saved conversations of the addressed agent. The chosen conversation is resumed.
    Conversation,
}

impl PickerKind {
    pub(crate) const AGENTS: PaneName = PaneName("agents");
    pub(crate) const MODELS: PaneName = PaneName("models");
    pub(crate) const MODES: PaneName = PaneName("modes");
    pub(crate) const CONVERSATIONS: PaneName = PaneName("conversations");

    pub(crate) fn named(name: PaneName) -> Option<Self> {
        match name {
            Self::AGENTS => Some(Self::Agent),
            Self::MODELS => Some(Self::Model),
            Self::MODES => Some(Self::Mode),
            Self::CONVERSATIONS => Some(Self::Conversation),
            _ => None,
        }
    }
}

/// Open list, with its rows and the agent that the list belongs to.
#[derive(Debug)]
pub(crate) struct OpenPicker {
    of: PickerKind,
    /// Agent whose models, modes or conversations are listed; `None` in the list of agents.
    owner: Option<ParticipantId>,
    pub(crate) picker: Picker,
    conversations: Vec<ConversationCard>,
    /// Agent for which the list shows a warning, for example that the agent is not logged in. Choosing the same agent
    /// again starts it.
    warned: Option<String>,
}

/// Query to the space that may take seconds. Frames are drawn without waiting for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BackgroundQuery {
    /// Lists all known agents, including agents that are not installed.
    Agents,
    /// Lists the saved conversations of the agent with this name.
    Conversations(String),
    /// Starts the agent with this name and adds it to the space. The second value is the conversation to resume, if
    /// there is one.
    Invite(String, Option<String>),
    /// Reads the text of an item from this offset in bytes.
    ItemPart(ItemId, u64),
}

/// Answer to a [`BackgroundQuery`].
#[derive(Debug)]
pub(crate) enum BackgroundAnswer {
    Agents(Vec<AgentCard>),
    Conversations(String, Result<Vec<ConversationCard>, SpaceRefusal>),
    Invited(String, Result<(), SpaceRefusal>),
    ItemPart(ItemId, u64, Result<TextPiece, String>),
}

/// State of the open list, and data that is retained while no list is open.
#[derive(Debug, Default)]
pub(crate) struct PickerState {
    open: Option<OpenPicker>,
    /// All known agents, as returned by the last query.
    cards: Vec<AgentCard>,
    /// Agents that are being started.
    inviting: Vec<String>,
    /// Last request made with the next-mode key (Shift+Tab): the agent, its mode before the request, and the requested
    /// mode.
    cycled: Option<(ParticipantId, Option<String>, String)>,
}

impl PickerState {
    /// Returns the names of the agents that are being started.
    pub(crate) fn inviting(&self) -> &[String] {
        &self.inviting
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn close(&mut self) -> bool {
        self.open.take().is_some()
    }
}

impl App {
    /// Returns the open list with its title.
    pub(crate) fn picker(&self) -> Option<(String, &Picker)> {
        let open = self.choices.open.as_ref()?;
        let owner = open.owner.as_ref().map(ToString::to_string).unwrap_or_default();
        let title = match open.of {
            PickerKind::Agent => "Agents".to_owned(),
            PickerKind::Model => format!("Models of {owner}"),
            PickerKind::Mode => format!("Modes of {owner}"),
            PickerKind::Conversation => format!("Conversations of {owner}"),
        };
        Some((title, &open.picker))
    }

    /// Opens a list of this kind, or closes it if it is already open.
    pub(crate) fn toggle_picker(&mut self, of: PickerKind, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        self.keys = None;
        if self.choices.open.take().is_some_and(|open| open.of == of) {
            return Vec::new();
        }
        let mut open = OpenPicker { of, owner: None, picker: Picker::default(), conversations: vec![], warned: None };
        let mut effects = Vec::new();
        if of == PickerKind::Agent {
            open.picker.loading = true;
            effects.push(AppEffect::Query(BackgroundQuery::Agents));
        } else {
            let owner = match addressed(state) {
                Ok((id, _)) => id.clone(),
                Err(problem) => {
                    self.warn(problem, now);
                    return effects;
                }
            };
            if of == PickerKind::Conversation {
                open.picker.loading = true;
                effects.push(AppEffect::Query(BackgroundQuery::Conversations(owner.to_string())));
            }
            open.owner = Some(owner);
        }
        self.choices.open = Some(open);
        self.refresh_picker(state, now);
        let empty = self.choices.open.as_ref().is_some_and(|open| open.picker.len() == 0 && !open.picker.loading);
        if empty {
            self.choices.open = None;
            let what = if of == PickerKind::Model { "models" } else { "modes" };
            self.warn(format!("There are no {what} to choose from"), now);
        }
        effects
    }

    /// Returns true if exactly one agent is addressed and has entries for this list. If false, the caller sends the
    /// command to the space, which reports the reason.
    pub(super) fn has_choices(&self, of: PickerKind, state: &SpaceState) -> bool {
        addressed(state).is_ok_and(|(_, one)| match of {
            PickerKind::Model => !one.capabilities.models.is_empty(),
            PickerKind::Mode => !one.capabilities.modes.is_empty(),
            PickerKind::Agent | PickerKind::Conversation => true,
        })
    }

    /// Updates the rows of the open list from the state.
    pub(crate) fn refresh_picker(&mut self, state: &SpaceState, now: SystemTime) {
        let Some(open) = &mut self.choices.open else { return };
        let of_whose = open.owner.as_ref().and_then(|id| state.participants.get(id));
        let rows = match (open.of, of_whose) {
            (PickerKind::Agent, _) => agents(&self.choices.cards, state),
            (PickerKind::Model, Some(one)) => named(&one.capabilities.models, one.capabilities.model.as_deref()),
            (PickerKind::Mode, Some(one)) => named(&one.capabilities.modes, one.capabilities.mode.as_deref()),
            (PickerKind::Conversation, _) => conversations(&open.conversations, &self.options.directory, now),
            (PickerKind::Model | PickerKind::Mode, None) => Vec::new(),
        };
        open.picker.set_rows(rows);
    }

    pub(crate) fn picker_gesture(&mut self, gesture: &Gesture, state: &SpaceState) -> Vec<AppEffect> {
        let Some(open) = &mut self.choices.open else { return Vec::new() };
        let picked = open.picker.handle(gesture);
        self.picked(picked, state)
    }

    /// Handles a click on the row at this index.
    pub(crate) fn click_row(&mut self, place: usize, state: &SpaceState) -> Vec<AppEffect> {
        let Some(open) = &mut self.choices.open else { return Vec::new() };
        let picked = open.picker.choose(place);
        self.picked(picked, state)
    }

    pub(crate) fn wheel_picker(&mut self, rows: isize) {
        if let Some(open) = &mut self.choices.open {
            open.picker.go(rows.signum());
        }
    }

    fn picked(&mut self, picked: PickerOutcome, state: &SpaceState) -> Vec<AppEffect> {
        let PickerOutcome::Chosen(key) = picked else { return Vec::new() };
        let Some(mut open) = self.choices.open.take() else { return Vec::new() };
        let set = |setting: Setting| match &open.owner {
            Some(owner) => vec![ask(ConversationCommand::Set(owner.clone(), setting))],
            None => Vec::new(),
        };
        match open.of {
            PickerKind::Model => set(Setting::Model(key)),
            PickerKind::Mode => set(Setting::Mode(key)),
            PickerKind::Agent => {
                let missing = self.choices.cards.iter().find(|card| card.id == key).and_then(missing_requirement);
                let here = joined_agent(state, &key).is_some();
                // The reported login state may be wrong, so choosing an installed agent a second time starts it anyway.
                let insists = open.warned.as_deref() == Some(&key);
                let absent = |card: &AgentCard| card.id == key && !card.installed;
                let absent = self.choices.cards.iter().any(absent);
                if let Some(missing) = missing.filter(|_| !here && (absent || !insists)) {
                    let again = if absent { "" } else { "\nPress Enter again to start it anyway." };
                    open.picker.problem = Some(format!("{missing}{again}"));
                    open.warned = Some(key);
                    self.choices.open = Some(open);
                    return Vec::new();
                }
                self.select_agent(key, state)
            }
            PickerKind::Conversation => {
                let Some(owner) = open.owner.clone() else { return Vec::new() };
                if state.participants.get(&owner).is_some_and(Participant::is_busy) {
                    let busy = format!("{owner} is busy. Interrupt the agent (Esc) or wait, then choose again.");
                    open.picker.problem = Some(busy);
                    self.choices.open = Some(open);
                    return Vec::new();
                }
                self.invite(owner.to_string(), Some(key))
            }
        }
    }

    /// Directs chat to this agent. If the agent has not joined, starts it first.
    pub(super) fn select_agent(&mut self, agent: String, state: &SpaceState) -> Vec<AppEffect> {
        match joined_agent(state, &agent) {
            Some(id) => vec![ask(ConversationCommand::Target(TargetCommand::Only(vec![id.clone()])))],
            None => self.invite(agent, None),
        }
    }

    fn invite(&mut self, agent: String, conversation: Option<String>) -> Vec<AppEffect> {
        self.choices.inviting.push(agent.clone());
        vec![AppEffect::Query(BackgroundQuery::Invite(agent, conversation))]
    }

    /// Handles the answer to a query about agents or conversations.
    pub(crate) fn on_agent_answer(
        &mut self,
        answer: BackgroundAnswer,
        state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        let mut effects = Vec::new();
        match answer {
            BackgroundAnswer::Agents(cards) => {
                if !cards.is_empty() {
                    self.choices.cards = cards;
                }
                if let Some(open) = self.choices.open.as_mut().filter(|open| open.of == PickerKind::Agent) {
                    open.picker.loading = false;
                }
            }
            BackgroundAnswer::Conversations(agent, found) => {
                let wanted = |open: &&mut OpenPicker| {
                    open.of == PickerKind::Conversation
                        && open.owner.as_ref().is_some_and(|owner| owner.as_str() == agent)
                };
                if let Some(open) = self.choices.open.as_mut().filter(wanted) {
                    open.picker.loading = false;
                    match found {
                        Ok(found) => open.conversations = found,
                        Err(refusal) => open.picker.problem = Some(refusal.to_string()),
                    }
                }
            }
            BackgroundAnswer::ItemPart(item, offset, result) => self.part_loaded(&item, offset, result),
            BackgroundAnswer::Invited(agent, result) => {
                if let Some(place) = self.choices.inviting.iter().position(|one| *one == agent) {
                    self.choices.inviting.remove(place);
                }
                match result {
                    Ok(()) => {
                        effects.push(ask(ConversationCommand::Target(TargetCommand::Only(vec![agent.as_str().into()]))))
                    }
                    Err(refusal) => effects.extend(self.invite_failed(&agent, &refusal, state, now)),
                }
            }
        }
        self.refresh_picker(state, now);
        effects
    }

    /// Reports the reason why an agent could not be started. The list of agents is opened to show the reason, because
    /// the status bar has only one line. The list is not opened while the user writes, or while a question or another
    /// list is open.
    fn invite_failed(
        &mut self,
        agent: &str,
        refusal: &SpaceRefusal,
        state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        self.warn(format!("{agent}: {refusal}"), now);
        if self.dialog.is_open() || !self.composer.is_empty() || self.choices.is_open() {
            return Vec::new();
        }
        let effects = self.toggle_picker(PickerKind::Agent, state, now);
        if let Some(open) = &mut self.choices.open {
            open.picker.select(agent);
            open.picker.problem = Some(refusal.to_string());
        }
        effects
    }

    /// Switches the addressed agent to its next mode.
    pub(super) fn cycle_mode(&mut self, state: &SpaceState, now: SystemTime) -> Vec<AppEffect> {
        let (id, one) = match addressed(state) {
            Ok(addressed) => addressed,
            Err(problem) => {
                self.warn(problem, now);
                return Vec::new();
            }
        };
        let modes = &one.capabilities.modes;
        if modes.is_empty() {
            self.warn(format!("{id} has no modes to choose from"), now);
            return Vec::new();
        }
        let has = &one.capabilities.mode;
        // A second press selects the mode after the requested one, even if the agent has not switched yet or has
        // refused to switch.
        let from = match self.choices.cycled.take() {
            Some((owner, before, asked)) if owner == *id && before == *has => Some(asked),
            _ => has.clone(),
        };
        let place = modes.iter().position(|mode| Some(&mode.id) == from.as_ref());
        let next = &modes[place.map_or(0, |place| (place + 1) % modes.len())].id;
        self.choices.cycled = Some((id.clone(), has.clone(), next.clone()));
        vec![ask(ConversationCommand::Set(id.clone(), Setting::Mode(next.clone())))]
    }
}

fn ask(command: ConversationCommand) -> AppEffect {
    AppEffect::Ask(SentCommand { command, written: None })
}

/// Returns the agent that receives chat messages. The error is a message for the user: no agent or several agents
/// receive them.
pub(crate) fn addressed(state: &SpaceState) -> Result<(&ParticipantId, &Participant), String> {
    let targets = state.targets.effective();
    let there = |one: &Participant| !one.session.as_ref().is_some_and(|at| matches!(at.activity, Activity::Gone(_)));
    let agents = state.present().filter(|(id, one)| {
        one.role == ParticipantRole::Agent && there(one) && targets.is_none_or(|targets| targets.contains(id))
    });
    let agents: Vec<_> = agents.collect();
    match agents.as_slice() {
        [one] => Ok(*one),
        [] => Err("Chat goes to no agent; choose an agent with F6 or /agent".to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|(id, _)| id.as_str()).collect();
            Err(format!("Chat goes to {}; choose one agent with F6 or /agent first", names.join(" and ")))
        }
    }
}

fn joined_agent<'a>(state: &'a SpaceState, agent: &str) -> Option<&'a ParticipantId> {
    let there = |one: &Participant| !one.session.as_ref().is_some_and(|at| matches!(at.activity, Activity::Gone(_)));
    state
        .present()
        .find(|(id, one)| id.as_str() == agent && one.role == ParticipantRole::Agent && there(one))
        .map(|(id, _)| id)
}

/// Returns the reason why an agent cannot be used, with a hint; `None` if the agent can be used.
fn missing_requirement(card: &AgentCard) -> Option<String> {
    let title = &card.title;
    let hint = card.hint.as_deref().map(|hint| format!(": {hint}")).unwrap_or_default();
    if !card.installed {
        return Some(format!("{title} is not installed{hint}."));
    }
    (card.login == LoginState::No).then(|| format!("{title} is not logged in{hint}."))
}

fn named(list: &[AgentOption], current: Option<&str>) -> Vec<PickerRow> {
    let row = |one: &AgentOption| PickerRow {
        key: one.id.clone(),
        name: one.id.clone(),
        description: if one.title == one.id { String::new() } else { one.title.clone() },
        current: current == Some(&one.id),
        status: if current == Some(&one.id) { "in use".to_owned() } else { String::new() },
        ..PickerRow::default()
    };
    list.iter().map(row).collect()
}

/// Returns the rows of the list of agents: joined agents, then available agents, then agents that cannot be used.
fn agents(cards: &[AgentCard], state: &SpaceState) -> Vec<PickerRow> {
    let targets = state.targets.effective();
    let mut rows: Vec<(u8, PickerRow)> = Vec::new();
    let here = |id: &str| {
        let id = joined_agent(state, id)?;
        let activity = state.activity(id).map_or("", Activity::name);
        let current = targets.is_none_or(|targets| targets.contains(id));
        Some((current, activity))
    };
    let mut add = |id: &str, title: &str, card: Option<&AgentCard>| {
        let mut row = PickerRow {
            key: id.to_owned(),
            name: id.to_owned(),
            description: title.to_owned(),
            ..PickerRow::default()
        };
        let missing = card.and_then(missing_requirement);
        let rank = match (here(id), card) {
            (Some((current, activity)), _) => {
                row.current = current;
                row.status =
                    if current { format!("chat goes here · {activity}") } else { format!("joined · {activity}") };
                "Enter: send messages only to this agent.".clone_into(&mut row.details);
                0
            }
            (None, Some(card)) if missing.is_none() => {
                row.status = match &card.login {
                    LoginState::Yes { .. } => "logged in".to_owned(),
                    LoginState::NotNeeded | LoginState::Unknown | LoginState::No => "installed".to_owned(),
                };
                let account = match &card.login {
                    LoginState::Yes { account: Some(account) } => format!(" Logged in with {account}."),
                    _ => String::new(),
                };
                row.details = format!("Enter: start this agent and send messages only to it.{account}");
                1
            }
            (None, card) => {
                let installed = card.is_some_and(|card| card.installed);
                row.status = if installed { "not logged in".to_owned() } else { "not installed".to_owned() };
                row.unavailable = true;
                row.details = missing.unwrap_or_default();
                if installed { 2 } else { 3 }
            }
        };
        rows.push((rank, row));
    };
    for card in cards {
        let version = card.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        add(&card.id, &format!("{}{version}", card.title), Some(card));
    }
    // Joined agents are known from the state, before the query is answered.
    for (id, one) in state.present().filter(|(_, one)| one.role == ParticipantRole::Agent) {
        if !cards.iter().any(|card| card.id == id.as_str()) && one.session.is_some() {
            add(id.as_str(), "", None);
        }
    }
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn conversations(cards: &[ConversationCard], directory: &std::path::Path, now: SystemTime) -> Vec<PickerRow> {
    let row = |card: &ConversationCard| {
        let elsewhere = card.directory.as_ref().filter(|held| held.as_path() != directory);
        PickerRow {
            key: card.id.clone(),
            name: if card.title.trim().is_empty() { "(untitled)".to_owned() } else { card.title.clone() },
            status: card.at.map(|at| age(at, now)).unwrap_or_default(),
            details: elsewhere.map(|held| format!("Directory: {}", held.display())).unwrap_or_default(),
            ..PickerRow::default()
        }
    };
    cards.iter().map(row).collect()
}

/// Formats the time since `at` in its largest unit, such as `3 days ago`.
fn age(at: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(at).unwrap_or_default().as_secs();
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        86_400..5_184_000 => (seconds / 86_400, "day"),
        _ => (seconds / 2_592_000, "month"),
    };
    if count == 1 { format!("1 {unit} ago") } else { format!("{count} {unit}s ago") }
}
