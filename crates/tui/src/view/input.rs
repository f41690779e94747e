//! Draws the composer between two rules. The upper rule shows the addressed agents, the lower rule the chips of the
//! panes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use wh_core::space::state::SpaceState;

use super::lines::{fit, joined, padded, rule};
use super::moment::FrameClock;
use crate::app::App;
use crate::composer::{CompletionView, ComposerView};
use crate::panes::{PANES, covered};

const PLACEHOLDER: &str = "Type a message, / for commands, ? for keys";

/// Draws the composer with the rules above and below it. Returns the position of the caret.
pub(super) fn draw(
    app: &App,
    state: &SpaceState,
    buffer: &mut Buffer,
    [above, area, below]: [Rect; 3],
    moment: &FrameClock,
) -> Option<Position> {
    let theme = app.theme();
    let focused = !PANES.iter().any(|pane| pane.is_focused(app, state));
    let border = if focused { theme.accent } else { theme.border };
    rule(buffer, above, border, &targets(app, state), &below_the_window(app));
    let chips = PANES.iter().flat_map(|pane| pane.chips(app, state, moment)).collect();
    rule(buffer, below, border, &padded(joined(chips, " · ", theme.dim)), &Line::default());

    let view = ComposerView { composer: &app.composer, theme, placeholder: PLACEHOLDER, focused };
    let cursor = view.cursor(area);
    view.render(area, buffer);
    if let Some(completion) = app.composer.completion().filter(|_| focused && !covered(app, state)) {
        let list = CompletionView { completion, theme };
        let bounds = Rect { height: above.y.saturating_sub(buffer.area.y), ..buffer.area };
        let place = list.area(Rect { y: above.y, ..area }, bounds);
        list.render(place, buffer);
    }
    cursor
}

/// Returns a hint with the number of lines below the visible part of the conversation.
fn below_the_window(app: &App) -> Line<'static> {
    let lines = app.transcript.below();
    if app.transcript.following() || lines == 0 {
        return Line::default();
    }
    let more = if lines == 1 { "line" } else { "lines" };
    Line::styled(format!(" ↓ {lines} {more} below · Ctrl+End "), app.theme().accent)
}

/// Returns the agents that receive chat messages; empty if all agents receive them.
fn targets(app: &App, state: &SpaceState) -> Line<'static> {
    let theme = app.theme();
    let Some(targets) = state.targets.effective() else { return Line::default() };
    let mut spans = vec![Span::raw(" ")];
    for id in targets {
        spans.push(Span::styled(format!(" → {} ", fit(id.as_str(), 24)), theme.badge));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}
