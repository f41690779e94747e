//! What is chosen from lists: the agent that chat goes to, its model, its mode, a conversation that it keeps. What there is
//! to choose from is the space's; the agents themselves are asked only when a list of them is opened.

use std::time::SystemTime;

use wh_core::input::Gesture;
use wh_core::slash::PaneName;
use wh_core::space::command::{Command, Refusal, Setting, Target};
use wh_core::space::event::{Activity, Role};
use wh_core::space::extent::Piece;
use wh_core::space::harness::Named;
use wh_core::space::roster::{AgentCard, ConversationCard, LoginState};
use wh_core::space::state::{Participant, State};
use wh_core::space::{ItemId, ParticipantId};

use super::{Act, App, Request};
use crate::picker::{Picked, Picker, Row};

/// A list that a person chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The agent that chat goes to.
    Agent,
    /// The model of the agent that chat goes to.
    Model,
    /// Its mode.
    Mode,
    /// A conversation that it keeps, to go on with.
    Conversation,
}

impl Pick {
    pub(crate) const AGENTS: PaneName = PaneName("agents");
    pub(crate) const MODELS: PaneName = PaneName("models");
    pub(crate) const MODES: PaneName = PaneName("modes");
    pub(crate) const CONVERSATIONS: PaneName = PaneName("conversations");

    /// The list with this name.
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

/// The list that is open.
#[derive(Debug)]
pub(crate) struct Choosing {
    of: Pick,
    /// Whose models, modes or conversations these are.
    whose: Option<ParticipantId>,
    pub(crate) picker: Picker,
    conversations: Vec<ConversationCard>,
    /// Who chose this once more means it.
    warned: Option<String>,
}

/// What is asked of the agents themselves, and may take seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// Which agents there are.
    Agents,
    /// Which conversations this one keeps.
    Conversations(String),
    /// Have this one take part, and go on with a conversation if one is named.
    Invite(String, Option<String>),
    /// Read an item from this byte on.
    Part(ItemId, u64),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Looked {
    Agents(Vec<AgentCard>),
    Conversations(String, Result<Vec<ConversationCard>, Refusal>),
    Invited(String, Result<(), Refusal>),
    Part(ItemId, u64, Result<Piece, String>),
}

/// What is remembered from one list to the next.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    open: Option<Choosing>,
    /// The agents, as they were found last.
    cards: Vec<AgentCard>,
    /// Those that are being started.
    inviting: Vec<String>,
    /// The mode that was asked for by key, of whom, and the one that it had then.
    cycled: Option<(ParticipantId, Option<String>, String)>,
}

impl Choices {
    /// Those that are being started.
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
    /// The list that is open, and what it is called.
    pub(crate) fn picker(&self) -> Option<(String, &Picker)> {
        let open = self.choices.open.as_ref()?;
        let whose = open.whose.as_ref().map(ToString::to_string).unwrap_or_default();
        let title = match open.of {
            Pick::Agent => "Agents".to_owned(),
            Pick::Model => format!("Models of {whose}"),
            Pick::Mode => format!("Modes of {whose}"),
            Pick::Conversation => format!("Conversations of {whose}"),
        };
        Some((title, &open.picker))
    }

    /// Opens a list, or closes it if it is the one that is open.
    pub(crate) fn pick(&mut self, of: Pick, state: &State, now: SystemTime) -> Vec<Act> {
        self.keys = None;
        if self.choices.open.take().is_some_and(|open| open.of == of) {
            return Vec::new();
        }
        let mut open = Choosing { of, whose: None, picker: Picker::default(), conversations: vec![], warned: None };
        let mut acts = Vec::new();
        if of == Pick::Agent {
            open.picker.looking = true;
            acts.push(Act::Look(Look::Agents));
        } else {
            let whose = match addressed(state) {
                Ok((id, _)) => id.clone(),
                Err(problem) => {
                    self.warn(problem, now);
                    return acts;
                }
            };
            if of == Pick::Conversation {
                open.picker.looking = true;
                acts.push(Act::Look(Look::Conversations(whose.to_string())));
            }
            open.whose = Some(whose);
        }
        self.choices.open = Some(open);
        self.settle_picker(state, now);
        let empty = self.choices.open.as_ref().is_some_and(|open| open.picker.len() == 0 && !open.picker.looking);
        if empty {
            self.choices.open = None;
            let what = if of == Pick::Model { "models" } else { "modes" };
            self.warn(format!("There are no {what} to choose from"), now);
        }
        acts
    }

    /// Whether there is one agent that has models or modes to choose from. If not, the space says why.
    pub(super) fn offers(&self, of: Pick, state: &State) -> bool {
        addressed(state).is_ok_and(|(_, one)| match of {
            Pick::Model => !one.capabilities.models.is_empty(),
            Pick::Mode => !one.capabilities.modes.is_empty(),
            Pick::Agent | Pick::Conversation => true,
        })
    }

    /// Lists what there is now.
    pub(crate) fn settle_picker(&mut self, state: &State, now: SystemTime) {
        let Some(open) = &mut self.choices.open else { return };
        let of_whose = open.whose.as_ref().and_then(|id| state.participants.get(id));
        let rows = match (open.of, of_whose) {
            (Pick::Agent, _) => agents(&self.choices.cards, state),
            (Pick::Model, Some(one)) => named(&one.capabilities.models, one.capabilities.model.as_deref()),
            (Pick::Mode, Some(one)) => named(&one.capabilities.modes, one.capabilities.mode.as_deref()),
            (Pick::Conversation, _) => conversations(&open.conversations, &self.options.directory, now),
            (Pick::Model | Pick::Mode, None) => Vec::new(),
        };
        open.picker.put(rows);
    }

    pub(crate) fn in_picker(&mut self, gesture: &Gesture, state: &State) -> Vec<Act> {
        let Some(open) = &mut self.choices.open else { return Vec::new() };
        let picked = open.picker.handle(gesture);
        self.picked(picked, state)
    }

    /// A row was clicked.
    pub(crate) fn click_row(&mut self, place: usize, state: &State) -> Vec<Act> {
        let Some(open) = &mut self.choices.open else { return Vec::new() };
        let picked = open.picker.choose(place);
        self.picked(picked, state)
    }

    pub(crate) fn wheel_picker(&mut self, rows: isize) {
        if let Some(open) = &mut self.choices.open {
            open.picker.go(rows.signum());
        }
    }

    fn picked(&mut self, picked: Picked, state: &State) -> Vec<Act> {
        let Picked::Chosen(key) = picked else { return Vec::new() };
        let Some(mut open) = self.choices.open.take() else { return Vec::new() };
        let set = |setting: Setting| match &open.whose {
            Some(whose) => vec![ask(Command::Set(whose.clone(), setting))],
            None => Vec::new(),
        };
        match open.of {
            Pick::Model => set(Setting::Model(key)),
            Pick::Mode => set(Setting::Mode(key)),
            Pick::Agent => {
                let missing = self.choices.cards.iter().find(|card| card.id == key).and_then(missing);
                let here = taking_part(state, &key).is_some();
                // An agent may be wrong about its login, but not about being there.
                let insists = open.warned.as_deref() == Some(&key);
                let absent = |card: &AgentCard| card.id == key && !card.installed;
                let absent = self.choices.cards.iter().any(absent);
                if let Some(missing) = missing.filter(|_| !here && (absent || !insists)) {
                    let again = if absent { "" } else { "\nEnter again starts it all the same." };
                    open.picker.problem = Some(format!("{missing}{again}"));
                    open.warned = Some(key);
                    self.choices.open = Some(open);
                    return Vec::new();
                }
                self.bring(key, state)
            }
            Pick::Conversation => {
                let Some(whose) = open.whose.clone() else { return Vec::new() };
                if state.participants.get(&whose).is_some_and(Participant::is_busy) {
                    let busy = format!("{whose} is at work. Interrupt it (Esc) or wait, then choose again.");
                    open.picker.problem = Some(busy);
                    self.choices.open = Some(open);
                    return Vec::new();
                }
                self.invite(whose.to_string(), Some(key))
            }
        }
    }

    /// Chat goes to this agent, which is started if it does not take part.
    pub(super) fn bring(&mut self, agent: String, state: &State) -> Vec<Act> {
        match taking_part(state, &agent) {
            Some(id) => vec![ask(Command::Target(Target::Only(vec![id.clone()])))],
            None => self.invite(agent, None),
        }
    }

    fn invite(&mut self, agent: String, conversation: Option<String>) -> Vec<Act> {
        self.choices.inviting.push(agent.clone());
        vec![Act::Look(Look::Invite(agent, conversation))]
    }

    /// What the agents themselves have said.
    pub(crate) fn looked(&mut self, looked: Looked, state: &State, now: SystemTime) -> Vec<Act> {
        let mut acts = Vec::new();
        match looked {
            Looked::Agents(cards) => {
                if !cards.is_empty() {
                    self.choices.cards = cards;
                }
                if let Some(open) = self.choices.open.as_mut().filter(|open| open.of == Pick::Agent) {
                    open.picker.looking = false;
                }
            }
            Looked::Conversations(agent, found) => {
                let wanted = |open: &&mut Choosing| {
                    open.of == Pick::Conversation && open.whose.as_ref().is_some_and(|whose| whose.as_str() == agent)
                };
                if let Some(open) = self.choices.open.as_mut().filter(wanted) {
                    open.picker.looking = false;
                    match found {
                        Ok(found) => open.conversations = found,
                        Err(refusal) => open.picker.problem = Some(refusal.to_string()),
                    }
                }
            }
            Looked::Part(item, offset, came) => self.part_came(&item, offset, came),
            Looked::Invited(agent, came) => {
                if let Some(place) = self.choices.inviting.iter().position(|one| *one == agent) {
                    self.choices.inviting.remove(place);
                }
                match came {
                    Ok(()) => acts.push(ask(Command::Target(Target::Only(vec![agent.as_str().into()])))),
                    Err(refusal) => acts.extend(self.not_brought(&agent, &refusal, state, now)),
                }
            }
        }
        self.settle_picker(state, now);
        acts
    }

    /// Why an agent did not come is more than a line: it stands in the list of agents, with what can be done about it.
    fn not_brought(&mut self, agent: &str, refusal: &Refusal, state: &State, now: SystemTime) -> Vec<Act> {
        self.warn(format!("{agent}: {refusal}"), now);
        if self.dialog.is_open() || !self.composer.is_empty() || self.choices.is_open() {
            return Vec::new();
        }
        let acts = self.pick(Pick::Agent, state, now);
        if let Some(open) = &mut self.choices.open {
            open.picker.select(agent);
            open.picker.problem = Some(refusal.to_string());
        }
        acts
    }

    /// The next of the agent's modes, in its order.
    pub(super) fn cycle_mode(&mut self, state: &State, now: SystemTime) -> Vec<Act> {
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
        // Who presses twice means the one after, also where the agent has not followed yet or did not want to.
        let from = match self.choices.cycled.take() {
            Some((whose, before, asked)) if whose == *id && before == *has => Some(asked),
            _ => has.clone(),
        };
        let place = modes.iter().position(|mode| Some(&mode.id) == from.as_ref());
        let next = &modes[place.map_or(0, |place| (place + 1) % modes.len())].id;
        self.choices.cycled = Some((id.clone(), has.clone(), next.clone()));
        vec![ask(Command::Set(id.clone(), Setting::Mode(next.clone())))]
    }
}

fn ask(command: Command) -> Act {
    Act::Ask(Request { command, written: None })
}

/// The one agent that chat goes to.
pub(crate) fn addressed(state: &State) -> Result<(&ParticipantId, &Participant), String> {
    let targets = state.targets.effective();
    let there = |one: &Participant| !one.session.as_ref().is_some_and(|at| matches!(at.activity, Activity::Gone(_)));
    let agents = state.present().filter(|(id, one)| {
        one.role == Role::Agent && there(one) && targets.is_none_or(|targets| targets.contains(id))
    });
    let agents: Vec<_> = agents.collect();
    match agents.as_slice() {
        [one] => Ok(*one),
        [] => Err("Chat goes to no agent: choose one with F6 or /agent".to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|(id, _)| id.as_str()).collect();
            Err(format!("Chat goes to {}: choose one with F6 or /agent first", names.join(" and ")))
        }
    }
}

fn taking_part<'a>(state: &'a State, agent: &str) -> Option<&'a ParticipantId> {
    let there = |one: &Participant| !one.session.as_ref().is_some_and(|at| matches!(at.activity, Activity::Gone(_)));
    state.present().find(|(id, one)| id.as_str() == agent && one.role == Role::Agent && there(one)).map(|(id, _)| id)
}

/// What is missing before an agent can be used, and what to do about it.
fn missing(card: &AgentCard) -> Option<String> {
    let title = &card.title;
    let hint = card.hint.as_deref().map(|hint| format!(": {hint}")).unwrap_or_default();
    if !card.installed {
        return Some(format!("{title} is not installed{hint}."));
    }
    (card.login == LoginState::No).then(|| format!("Nobody is logged in with {title}{hint}."))
}

fn named(list: &[Named], current: Option<&str>) -> Vec<Row> {
    let row = |one: &Named| Row {
        key: one.id.clone(),
        name: one.id.clone(),
        about: if one.title == one.id { String::new() } else { one.title.clone() },
        current: current == Some(&one.id),
        aside: if current == Some(&one.id) { "in use".to_owned() } else { String::new() },
        ..Row::default()
    };
    list.iter().map(row).collect()
}

/// Those that take part, those that could, and those that are missing something.
fn agents(cards: &[AgentCard], state: &State) -> Vec<Row> {
    let targets = state.targets.effective();
    let mut rows: Vec<(u8, Row)> = Vec::new();
    let here = |id: &str| {
        let id = taking_part(state, id)?;
        let activity = state.activity(id).map_or("", Activity::name);
        let current = targets.is_none_or(|targets| targets.contains(id));
        Some((current, activity))
    };
    let mut add = |id: &str, title: &str, card: Option<&AgentCard>| {
        let mut row = Row { key: id.to_owned(), name: id.to_owned(), about: title.to_owned(), ..Row::default() };
        let missing = card.and_then(missing);
        let rank = match (here(id), card) {
            (Some((current, activity)), _) => {
                row.current = current;
                row.aside =
                    if current { format!("chat goes here · {activity}") } else { format!("here · {activity}") };
                "Enter sends what you write to this one alone. The others stay as they are."
                    .clone_into(&mut row.details);
                0
            }
            (None, Some(card)) if missing.is_none() => {
                row.aside = match &card.login {
                    LoginState::Yes { .. } => "logged in".to_owned(),
                    LoginState::NotNeeded | LoginState::Unknown | LoginState::No => "installed".to_owned(),
                };
                let account = match &card.login {
                    LoginState::Yes { account: Some(account) } => format!(" As {account}."),
                    _ => String::new(),
                };
                row.details =
                    format!("Enter starts it here, and chat goes to it. The others stay as they are.{account}");
                1
            }
            (None, card) => {
                let installed = card.is_some_and(|card| card.installed);
                row.aside = if installed { "not logged in".to_owned() } else { "not installed".to_owned() };
                row.faded = true;
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
    // Those that take part are known before anybody is asked.
    for (id, one) in state.present().filter(|(_, one)| one.role == Role::Agent) {
        if !cards.iter().any(|card| card.id == id.as_str()) && one.session.is_some() {
            add(id.as_str(), "", None);
        }
    }
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn conversations(cards: &[ConversationCard], directory: &std::path::Path, now: SystemTime) -> Vec<Row> {
    let row = |card: &ConversationCard| {
        let elsewhere = card.directory.as_ref().filter(|held| held.as_path() != directory);
        Row {
            key: card.id.clone(),
            name: if card.title.trim().is_empty() { "(untitled)".to_owned() } else { card.title.clone() },
            aside: card.at.map(|at| age(at, now)).unwrap_or_default(),
            details: elsewhere.map(|held| format!("Held in {}", held.display())).unwrap_or_default(),
            ..Row::default()
        }
    };
    cards.iter().map(row).collect()
}

/// How long ago, roughly.
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
