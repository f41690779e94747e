//! Dialog of the open question, above the composer. The options are always visible; the details scroll if there is too
//! little room.

use std::sync::Arc;
use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wh_client::MirrorChange;
use wh_core::input::Gesture;
use wh_core::space::item::Item;
use wh_core::space::question::{OptionMeaning, Question, QuestionKind};
use wh_core::space::state::SpaceState;
use wh_core::terminal::Size;

use super::details::QuestionDetails;
use super::{Pane, PanePart, PanePlacement, WHOLE_PANE, covered};
use crate::app::{App, AppEffect, CONFIRMATIONS, ClickTarget, takes_text};
use crate::composer::{Composer, ComposerView};
use crate::diff::CONTEXT_LINES;
use crate::theme::Theme;
use crate::view::lines::{fit, one_line, put, put_all, thousands};
use crate::view::{FrameClock, fits, frame, take_bottom};
use crate::wrap::{StyledText, words};
use unicode_width::UnicodeWidthStr;
use wh_screen::visible::{visible, visible_line};

/// Maximum number of lines of the title that stay visible while the details scroll.
const MAX_TITLE_LINES: usize = 3;

/// Text of a question, laid out for a width and a height. Cached between frames, because computing a diff can be slow.
#[derive(Debug)]
pub(crate) struct QuestionText {
    of: Arc<Item>,
    width: usize,
    /// Maximum height of the dialog for which the text was laid out.
    room: u16,
    /// Title of the question. A long title is truncated here and scrolls as part of `content`.
    heading: Vec<Line<'static>>,
    /// Whole title, followed by the details and by option labels that do not fit into one line.
    content: Vec<Line<'static>>,
    /// Number of rows of `content` that the heading already contains.
    headed: usize,
}

impl QuestionText {
    /// Lays out the text of a question. `room` is the maximum number of rows of the dialog.
    fn new(item: &Arc<Item>, question: &Question, (width, room): (usize, u16), theme: &Theme) -> Self {
        let mut heading = words(&[StyledText::new(visible(&question.title).trim(), theme.strong)], width);
        let around =
            2 + question.options.len() + usize::from(takes_text(question)) + heading.len().min(MAX_TITLE_LINES);
        let details = fitting(question, width, usize::from(room).saturating_sub(around), theme).lines;
        let gap = (!details.is_empty()).then(Line::default);
        let mut content: Vec<_> = heading.iter().cloned().chain(gap).collect();
        let mut headed = content.len();
        content.extend(details);
        if heading.len() > MAX_TITLE_LINES {
            headed = 0;
            heading.truncate(MAX_TITLE_LINES - 1);
            heading.push(Line::styled("…", theme.strong));
        }
        for (place, option) in question.options.iter().enumerate() {
            let label = visible_line(&option.label);
            if label.width() > label_columns(width) {
                content.push(Line::default());
                content.extend(words(&[StyledText::new(format!("{} {label}", place + 1), theme.text)], width));
            }
        }
        Self { of: Arc::clone(item), width, room, heading, content, headed }
    }

    /// Returns the part of the content that scrolls below the heading.
    fn details(&self) -> &[Line<'static>] {
        self.content.get(self.headed..).unwrap_or_default()
    }

    /// Returns true if `rows` rows are enough for the heading and one line of details. If not, the title scrolls with
    /// the details.
    fn fits(&self, rows: u16) -> bool {
        usize::from(rows) >= self.heading.len() + usize::from(!self.details().is_empty())
    }

    fn is_of(&self, item: &Arc<Item>, width: usize, room: u16) -> bool {
        Arc::ptr_eq(&self.of, item) && self.width == width && self.room == room
    }
}

/// Renders the details in `rows` rows, with as many unchanged lines around each change as fit. If the changes alone do
/// not fit, omits unchanged lines only until the first changed line is visible.
fn fitting(question: &Question, width: usize, rows: usize, theme: &Theme) -> QuestionDetails {
    let with = |context: usize| QuestionDetails::new(question, width, context, theme);
    let whole = with(CONTEXT_LINES);
    let Some(change) = whole.change.filter(|_| whole.lines.len() > rows) else { return whole };
    let [less, none] = [1, 0].map(with);
    match [&less, &none].map(|details| details.lines.len() <= rows) {
        [true, _] => less,
        [false, true] => none,
        _ if change + 1 < rows => whole,
        _ if less.change.is_some_and(|change| change + 1 < rows) => less,
        _ => none,
    }
}

/// Returns the text of the current question, for a dialog of this width and at most `room` rows. The text is cached in
/// the app.
fn text(app: &mut App, state: &SpaceState, width: u16, room: u16) -> Option<Arc<QuestionText>> {
    let (item, question, _) = app.dialog.current(state)?;
    let width = columns(width);
    let known = app.dialog.text.take().filter(|text| text.is_of(item, width, room));
    let text = known.unwrap_or_else(|| Arc::new(QuestionText::new(item, question, (width, room), app.theme())));
    app.dialog.text = Some(Arc::clone(&text));
    Some(text)
}

/// Returns the number of columns for text in a dialog of this width.
fn columns(width: u16) -> usize {
    usize::from(width.saturating_sub(4))
}

/// Returns the number of columns for the label of an option, given the columns for text.
fn label_columns(width: usize) -> usize {
    width.saturating_sub(5)
}

/// Returns the preferred height of the dialog, at most `room`. Must be called before [`draw`].
fn height(app: &mut App, state: &SpaceState, width: u16, room: u16) -> u16 {
    let Some(text) = text(app, state, width, room) else {
        app.dialog.text = None;
        return 0;
    };
    let Some((_, question, _)) = app.dialog.current(state) else { return 0 };
    let field = if takes_text(question) { app.dialog.field.fit(width.saturating_sub(4), 4) } else { 0 };
    let gaps = usize::from(!text.details().is_empty()) + 1;
    let rows = text.heading.len() + text.details().len() + gaps + question.options.len() + usize::from(field) + 2;
    u16::try_from(rows).unwrap_or(u16::MAX).min(room)
}

/// Draws the dialog. Returns the position of the cursor if the text field has the focus.
fn draw(app: &mut App, buffer: &mut Buffer, area: Rect, state: &SpaceState) -> Option<Position> {
    let covered = covered(app, state);
    let text = app.dialog.text.clone()?;
    let (item, question, count) = app.dialog.current(state)?;
    let confirming = app.dialog.confirming.is_some();
    let entries = if confirming { CONFIRMATIONS.len() } else { question.options.len() } as u16;
    let writes = takes_text(question) && !confirming;
    // The dialog needs at least one line of the question, the options, and one line of the text field.
    let hidden = area.height < entries.saturating_add(3 + u16::from(writes));
    app.dialog.hidden = hidden;
    if area.height < 3 {
        return None;
    }
    let theme = *app.theme();
    let border = match question.kind {
        QuestionKind::Permission => theme.warning,
        QuestionKind::Choice | QuestionKind::Text | QuestionKind::Secret => theme.accent,
    };
    let inside = frame(buffer, area, border);
    app.click_targets.push((area, ClickTarget::Pane(&QuestionPane, WHOLE_PANE)));
    let (typing, ignoring) = (app.dialog.typing_to_draft(), app.dialog.ignores_answers());
    let on_frame = |y: u16| Rect { x: area.x + 2, y, width: area.width.saturating_sub(4), height: 1 };
    let who = Line::styled(format!(" {} asks ", item.from), border);
    put(buffer, on_frame(area.y), &who);
    if count > 1 {
        let place = format!(" 1 of {count} ");
        let width = place.len() as u16;
        let right = Rect { x: area.right().saturating_sub(2 + width), width, ..on_frame(area.y) };
        put(buffer, right, &Line::styled(place, border));
    }

    let most = inside.height.saturating_sub(entries.saturating_add(1)).min(4);
    let field = if writes { app.dialog.field.fit(inside.width, most).min(inside.height) } else { 0 };
    let mut rest = inside;
    let field = take_bottom(&mut rest, field);
    // The title keeps its first line even if options are cut off, because options can be scrolled.
    let shown = entries.min(rest.height.saturating_sub(1));
    let options = take_bottom(&mut rest, shown);
    let warning = confirming.then(|| unseen(app.dialog.read_progress.unread_bytes(), columns(area.width), &theme));
    let (heading, scrolled) = match &warning {
        Some(warning) => (warning.as_slice(), text.details()),
        None if text.fits(rest.height) => (text.heading.as_slice(), text.details()),
        None => (&[][..], text.content.as_slice()),
    };
    let title = rest.height.min(heading.len() as u16);
    put_all(buffer, Rect { height: title, ..rest }, heading);
    rest = Rect { y: rest.y + title, height: rest.height - title, ..rest };
    let (more, end) = draw_details(app, buffer, rest, scrolled);
    if !covered && !hidden {
        app.dialog.displayed(question, end && usize::from(title) == heading.len());
    }

    let options = draw_options(app, buffer, options, question, &theme);
    app.click_targets.extend(options);
    let in_field = app.dialog.in_field(question) && !typing;
    let secret = question.kind == QuestionKind::Secret;
    let cursor = draw_field(app, buffer, field, (in_field, secret), &theme);
    let hint = match (typing, ignoring) {
        (true, _) => "you are typing: pause or press Tab to answer".to_owned(),
        (false, true) => "new question: keys are ignored until you stop typing".to_owned(),
        (false, false) => hint(app, question, more, in_field),
    };
    put(buffer, on_frame(area.bottom() - 1), &Line::styled(fit(&format!(" {hint} "), columns(area.width)), theme.dim));
    cursor
}

/// Returns the warning that asks the user to confirm an answer, with the number of bytes that have not been shown.
fn unseen(bytes: u64, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let warning = format!("{} bytes of the question have not been shown. Allow anyway?", thousands(bytes));
    words(&[StyledText::new(warning, theme.warning)], width)
}

/// Draws the details at the current scroll position. Returns the number of hidden lines below (`None` if all lines fit
/// into the area), and true if the last line is visible.
fn draw_details(app: &mut App, buffer: &mut Buffer, area: Rect, all: &[Line<'static>]) -> (Option<usize>, bool) {
    // Blank lines above and below, if there is room.
    let spare = usize::from(area.height).saturating_sub(all.len());
    let above = u16::from(spare >= 2 && !all.is_empty());
    let below = u16::from(spare >= 1);
    let height = area.height.saturating_sub(above + below);
    let place = Rect { y: area.y + above, height, ..area };
    let most = all.len().saturating_sub(usize::from(height));
    app.dialog.max_scroll = most;
    app.dialog.scroll = app.dialog.scroll.min(most);
    let first = app.dialog.scroll;
    put_all(buffer, place, &all[first..]);
    let end = all.is_empty() || (height > 0 && first == most);
    ((most > 0).then_some(most - first), end)
}

/// Draws the options and returns the areas that can be clicked. If the options do not fit, they scroll to the
/// highlighted option.
fn draw_options(
    app: &App,
    buffer: &mut Buffer,
    area: Rect,
    question: &Question,
    theme: &Theme,
) -> Vec<(Rect, ClickTarget)> {
    let (entries, selected) = entries(app, question, theme);
    let height = usize::from(area.height);
    let first =
        selected.unwrap_or(0).saturating_sub(height.saturating_sub(1)).min(entries.len().saturating_sub(height));
    let mut spots = Vec::new();
    for (row, (place, (label, style))) in (0..area.height).zip(entries.iter().enumerate().skip(first)) {
        let line = Rect { y: area.y + row, height: 1, ..area };
        let chosen = selected == Some(place);
        let mark = if chosen { "❯ " } else { "  " };
        let spans = vec![
            Span::styled(mark, theme.accent),
            Span::styled(format!("{} ", place + 1), theme.dim),
            Span::styled(fit(label, label_columns(area.width.into())), *style),
        ];
        put(buffer, line, &Line::from(spans));
        if chosen {
            buffer.set_style(line, theme.selection);
        }
        spots.push((line, ClickTarget::Pane(&QuestionPane, place)));
    }
    spots
}

/// Returns the labels and styles of the entries, and the index of the highlighted entry. The entries are
/// [`CONFIRMATIONS`] if the user must confirm an answer, and else the options. An option that cannot be selected yet is
/// dim, and its label includes the reason.
fn entries(app: &App, question: &Question, theme: &Theme) -> (Vec<(String, Style)>, Option<usize>) {
    if let Some(confirming) = &app.dialog.confirming {
        let style = |place: usize| if place + 1 == CONFIRMATIONS.len() { theme.warning } else { theme.text };
        let all = CONFIRMATIONS.iter().enumerate().map(|(place, label)| ((*label).to_owned(), style(place)));
        return (all.collect(), confirming.selected);
    }
    let all = question.options.iter().enumerate().map(|(place, option)| {
        let label = one_line(&option.label);
        if app.dialog.selectable(question, place) {
            (label, meant(option.meaning, theme))
        } else {
            (format!("{label} (read to the end first)"), theme.dim)
        }
    });
    (all.collect(), app.dialog.selected)
}

fn meant(meaning: OptionMeaning, theme: &Theme) -> Style {
    match meaning {
        OptionMeaning::AllowAlways => theme.warning,
        OptionMeaning::RejectOnce | OptionMeaning::RejectAlways => theme.danger,
        OptionMeaning::AllowOnce | OptionMeaning::Other => theme.text,
    }
}

fn draw_field(
    app: &mut App,
    buffer: &mut Buffer,
    area: Rect,
    (focused, secret): (bool, bool),
    theme: &Theme,
) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    app.click_targets.push((area, ClickTarget::Pane(&QuestionPane, ANSWER_FIELD)));
    let placeholder = "Reply with text";
    let mut masked = Composer::new();
    if secret {
        masked.set_text(&"•".repeat(app.dialog.field.text().chars().count()));
    }
    let composer = if secret { &masked } else { &app.dialog.field };
    let view = ComposerView { composer, theme, placeholder, focused };
    let cursor = view.cursor(area).filter(|_| focused);
    ratatui::widgets::Widget::render(view, area, buffer);
    cursor
}

fn hint(app: &App, question: &Question, more: Option<usize>, in_field: bool) -> String {
    let mut parts = Vec::new();
    if app.dialog.confirming.is_some() {
        return "number or ↑↓ Enter · Esc back".to_owned();
    }
    if let (Some(lines), false) = (more, app.dialog.read_progress.is_complete()) {
        return format!("End: read to the end · {lines} more · Ctrl+O: full text");
    }
    if app.dialog.read_progress.unread_bytes() > 0 {
        parts.push("Ctrl+O opens the full text".to_owned());
    }
    match more {
        Some(0) => parts.push("PgUp".to_owned()),
        Some(lines) => parts.push(format!("PgDn: {lines} more")),
        None => {}
    }
    let choosing = if in_field { "Enter sends" } else { "number or ↑↓ Enter" };
    parts.push(choosing.to_owned());
    match (in_field, question.options.is_empty(), takes_text(question)) {
        (true, false, _) => parts.push("Tab: options".to_owned()),
        (false, _, true) => parts.push("Tab: reply with text".to_owned()),
        _ => {}
    }
    parts.push("Esc interrupts".to_owned());
    parts.join(" · ")
}

/// Part of the pane that contains the text field.
const ANSWER_FIELD: PanePart = WHOLE_PANE - 1;

#[derive(Debug)]
pub(super) struct QuestionPane;

impl Pane for QuestionPane {
    fn layer(&self) -> PanePlacement {
        PanePlacement::Above
    }

    fn is_open(&self, app: &App, _state: &SpaceState) -> bool {
        app.dialog.is_open()
    }

    fn is_modal(&self) -> bool {
        true
    }

    fn is_focused(&self, app: &App, _state: &SpaceState) -> bool {
        app.dialog.is_open() && !app.dialog.typing_to_draft()
    }

    fn takes_characters(&self, app: &App, state: &SpaceState) -> bool {
        app.dialog.current(state).is_some_and(|(_, question, _)| !app.dialog.in_field(question))
    }

    /// Returns true if the gesture is for the composer, because the user was typing when the question opened.
    fn defers_to_composer(&self, app: &mut App, gesture: &Gesture, now: SystemTime) -> bool {
        let drafting = !app.composer.is_empty();
        if !app.dialog.is_open() || !app.dialog.goes_to_draft(gesture, drafting, now) {
            return false;
        }
        let tab = matches!(gesture, Gesture::Key(press) if press.to_string() == "tab");
        if tab {
            app.dialog.focus_question();
        } else {
            app.dialog.extend_draft_time(now);
        }
        !tab
    }

    fn typed(&self, app: &mut App, gesture: &Gesture, state: &SpaceState, now: SystemTime) -> Option<Vec<AppEffect>> {
        if app.dialog.hidden {
            app.inform("Enlarge the window to answer the question; Esc interrupts", now);
            return Some(Vec::new());
        }
        if app.dialog.rejects_early_answer(gesture, now) || app.dialog.answers_unseen(gesture) {
            return Some(Vec::new());
        }
        let outcome = app.dialog.handle(gesture, state);
        Some(app.apply_dialog_outcome(outcome, state, now).unwrap_or_else(|| {
            // Keys that scroll the conversation also work while a question is open. The draft is not affected.
            app.transcript.handle(gesture);
            Vec::new()
        }))
    }

    fn escape(&self, app: &mut App, state: &SpaceState) -> bool {
        app.dialog.leave_field(state)
    }

    fn wheel(&self, app: &mut App, lines: isize) -> Vec<AppEffect> {
        app.dialog.scroll(lines);
        Vec::new()
    }

    fn click(
        &self,
        app: &mut App,
        part: PanePart,
        gesture: &Gesture,
        state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        match part {
            WHOLE_PANE => {}
            ANSWER_FIELD => {
                app.dialog.focus_question();
                let place = app.dialog.current(state).map_or(0, |(_, question, _)| question.options.len());
                app.dialog.selected = Some(place);
            }
            _ if app.dialog.hidden || app.dialog.rejects_early_answer(gesture, now) => {}
            place => {
                let outcome = app.dialog.choose(place, state);
                return app.apply_dialog_outcome(outcome, state, now).unwrap_or_default();
            }
        }
        Vec::new()
    }

    fn sync(&self, app: &mut App, state: &SpaceState, _change: &MirrorChange, now: SystemTime) {
        app.sync_dialog(state, now);
    }

    fn frame(&self, app: &mut App, state: &SpaceState, screen: Rect, moment: &FrameClock) {
        let size = Size { columns: screen.width, rows: screen.height };
        app.dialog.resize(size, state, moment.now());
        if !fits(size) {
            return;
        }
        if let Some(wake) = app.dialog.frame(moment.now()) {
            moment.wake_in(wake);
        }
    }

    fn rows(&self, app: &mut App, state: &SpaceState, screen: Rect, room: u16) -> u16 {
        height(app, state, screen.width, room)
    }

    fn draw(
        &self,
        app: &mut App,
        state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        _moment: &FrameClock,
    ) -> Option<Position> {
        draw(app, buffer, area, state)
    }
}
