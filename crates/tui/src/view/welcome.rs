//! Welcome text, shown while the conversation is new.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use wh_core::space::item::ItemBody;
use wh_core::space::state::SpaceState;

use super::lines::{one_line, put_all};
use crate::app::{App, primary_agent};
use crate::panes::covered;

/// Maximum number of items in a conversation that counts as new.
const MAX_ITEMS_WHEN_NEW: usize = 8;

pub(super) fn draw(app: &App, state: &SpaceState, buffer: &mut Buffer, area: Rect) {
    let new = state.items.len() <= MAX_ITEMS_WHEN_NEW
        && state
            .items
            .iter()
            .all(|item| matches!(&item.body, ItemBody::Act { kind, .. } if kind.starts_with("system/")));
    if !new || covered(app, state) {
        return;
    }
    let theme = app.theme();
    let agent = primary_agent(state);
    let name = app.options().agent.clone().or_else(|| agent.map(|(id, _)| id.to_string()));
    let mut first =
        vec![Span::styled("Wheelhouse ", theme.heading), Span::styled(app.options().version.clone(), theme.dim)];
    if let Some(name) = name {
        first.push(Span::styled("  with ", theme.dim));
        first.push(Span::styled(one_line(&name), theme.agent));
    }
    let key = |key: &'static str, what: &'static str| {
        Line::from(vec![Span::styled(format!("{key:<6}"), theme.accent), Span::styled(what, theme.dim)])
    };
    let mut lines = vec![
        Line::from(first),
        Line::default(),
        key("Enter", "send your message"),
        key("/", "commands"),
        key("@", "files"),
        key("?", "keys"),
    ];
    if agent.is_some_and(|(_, one)| one.capabilities.commands.iter().any(|command| command.id == "demo")) {
        lines.push(key("/demo", "list what the demo agent can do"));
    }
    let height = lines.len() as u16;
    // The text is drawn at the bottom, and only if it does not touch the first items.
    if area.height < height + MAX_ITEMS_WHEN_NEW as u16 / 2 || area.width < 40 {
        return;
    }
    let place = Rect { x: area.x + 3, y: area.bottom() - height - 1, width: area.width - 3, height };
    put_all(buffer, place, &lines);
}
