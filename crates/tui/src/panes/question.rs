//! The question above the composer. Its options are always on the screen; what it is about scrolls where it is too long.

use std::sync::Arc;
use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wh_client::Change;
use wh_core::input::Gesture;
use wh_core::space::item::Item;
use wh_core::space::question::{Meaning, Question, QuestionKind};
use wh_core::space::state::State;
use wh_core::terminal::Size;

use super::details::Details;
use super::{Layer, Pane, Part, WHOLE, covered};
use crate::app::{Act, App, CONFIRMATIONS, Spot, takes_text};
use crate::composer::{Composer, ComposerView};
use crate::diff::CONTEXT;
use crate::theme::Theme;
use crate::view::lines::{fit, one_line, put, put_all, thousands};
use crate::view::{Moment, fits, frame, take_bottom};
use crate::wrap::{Piece, words};
use unicode_width::UnicodeWidthStr;
use wh_screen::visible::{visible, visible_line};

/// Lines of the title at most.
const TITLE: usize = 3;

/// What was asked, broken for a width. Kept from frame to frame: a change may take long to compare.
#[derive(Debug)]
pub(crate) struct Text {
    of: Arc<Item>,
    width: usize,
    /// Rows of the dialog that it was made for.
    room: u16,
    /// The title, or its beginning.
    heading: Vec<Line<'static>>,
    /// The whole title, then the details.
    content: Vec<Line<'static>>,
    /// Rows of `content` that need not be scrolled where the whole heading is shown.
    headed: usize,
}

impl Text {
    /// `room` is the number of rows that the dialog may have.
    fn new(item: &Arc<Item>, question: &Question, (width, room): (usize, u16), theme: &Theme) -> Self {
        let mut heading = words(&[Piece::new(visible(&question.title).trim(), theme.strong)], width);
        let around = 2 + question.options.len() + usize::from(takes_text(question)) + heading.len().min(TITLE);
        let details = fitting(question, width, usize::from(room).saturating_sub(around), theme).lines;
        let gap = (!details.is_empty()).then(Line::default);
        let mut content: Vec<_> = heading.iter().cloned().chain(gap).collect();
        let mut headed = content.len();
        content.extend(details);
        if heading.len() > TITLE {
            headed = 0;
            heading.truncate(TITLE - 1);
            heading.push(Line::styled("…", theme.strong));
        }
        for (place, option) in question.options.iter().enumerate() {
            let label = visible_line(&option.label);
            if label.width() > label_columns(width) {
                content.push(Line::default());
                content.extend(words(&[Piece::new(format!("{} {label}", place + 1), theme.text)], width));
            }
        }
        Self { of: Arc::clone(item), width, room, heading, content, headed }
    }

    /// The part that scrolls below the heading.
    fn details(&self) -> &[Line<'static>] {
        self.content.get(self.headed..).unwrap_or_default()
    }

    /// True if this many rows hold the heading and one scrolled line. Otherwise the title scrolls too.
    fn fits(&self, rows: u16) -> bool {
        usize::from(rows) >= self.heading.len() + usize::from(!self.details().is_empty())
    }

    fn is_of(&self, item: &Arc<Item>, width: usize, room: u16) -> bool {
        Arc::ptr_eq(&self.of, item) && self.width == width && self.room == room
    }
}

/// The details with as much context of changes as lets them fit into this many rows. If nothing fits: with as much as lets
/// the first changed line be seen.
fn fitting(question: &Question, width: usize, rows: usize, theme: &Theme) -> Details {
    let with = |context: usize| Details::new(question, width, context, theme);
    let whole = with(CONTEXT);
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

/// What is asked, for a dialog of this width and at most this many rows.
fn text(app: &mut App, state: &State, width: u16, room: u16) -> Option<Arc<Text>> {
    let (item, question, _) = app.dialog.current(state)?;
    let width = columns(width);
    let known = app.dialog.text.take().filter(|text| text.is_of(item, width, room));
    let text = known.unwrap_or_else(|| Arc::new(Text::new(item, question, (width, room), app.theme())));
    app.dialog.text = Some(Arc::clone(&text));
    Some(text)
}

/// Columns for text in a dialog of this width.
fn columns(width: u16) -> usize {
    usize::from(width.saturating_sub(4))
}

/// Columns for the label of an option where the text has this many.
fn label_columns(width: usize) -> usize {
    width.saturating_sub(5)
}

/// Lines that the dialog wants, and no more than there are. Has to be called before [`draw`].
fn height(app: &mut App, state: &State, width: u16, room: u16) -> u16 {
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

/// Draws the dialog; where the terminal's cursor belongs if something is written in it.
fn draw(app: &mut App, buffer: &mut Buffer, area: Rect, state: &State) -> Option<Position> {
    let covered = covered(app, state);
    let text = app.dialog.text.clone()?;
    let (item, question, count) = app.dialog.current(state)?;
    let confirming = app.dialog.confirming.is_some();
    let entries = if confirming { CONFIRMATIONS.len() } else { question.options.len() } as u16;
    let writes = takes_text(question) && !confirming;
    // Within the frame: one line of what is asked, the options, and one line to write in.
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
    app.spots.push((area, Spot::Pane(&QuestionPane, WHOLE)));
    let (held, deaf) = (app.dialog.is_held(), app.dialog.is_deaf());
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
    // The title keeps its first line before the last options keep theirs: those can be scrolled to.
    let shown = entries.min(rest.height.saturating_sub(1));
    let options = take_bottom(&mut rest, shown);
    let warning = confirming.then(|| unseen(app.dialog.reading.unread_bytes(), columns(area.width), &theme));
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
    app.spots.extend(options);
    let in_field = app.dialog.in_field(question) && !held;
    let secret = question.kind == QuestionKind::Secret;
    let cursor = draw_field(app, buffer, field, (in_field, secret), &theme);
    let hint = match (held, deaf) {
        (true, _) => "you are writing: pause, or Tab, to answer".to_owned(),
        (false, true) => "another question: pause to answer it".to_owned(),
        (false, false) => hint(app, question, more, in_field),
    };
    put(buffer, on_frame(area.bottom() - 1), &Line::styled(fit(&format!(" {hint} "), columns(area.width)), theme.dim));
    cursor
}

/// Heading of the second confirmation: how much was never on the screen.
fn unseen(bytes: u64, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let said = format!("{} bytes of what is asked have not been shown. Grant it all the same?", thousands(bytes));
    words(&[Piece::new(said, theme.warning)], width)
}

/// Draws what the question is about, from where it is scrolled to. If not all of it fits, how many lines follow; and
/// whether its last line is on the screen.
fn draw_details(app: &mut App, buffer: &mut Buffer, area: Rect, all: &[Line<'static>]) -> (Option<usize>, bool) {
    // A blank line above and below, where there is room for them.
    let spare = usize::from(area.height).saturating_sub(all.len());
    let above = u16::from(spare >= 2 && !all.is_empty());
    let below = u16::from(spare >= 1);
    let height = area.height.saturating_sub(above + below);
    let place = Rect { y: area.y + above, height, ..area };
    let most = all.len().saturating_sub(usize::from(height));
    app.dialog.most_scroll = most;
    app.dialog.scroll = app.dialog.scroll.min(most);
    let first = app.dialog.scroll;
    put_all(buffer, place, &all[first..]);
    let end = all.is_empty() || (height > 0 && first == most);
    ((most > 0).then_some(most - first), end)
}

/// Draws the options, around the selected one if they are too many; and where each stands.
fn draw_options(app: &App, buffer: &mut Buffer, area: Rect, question: &Question, theme: &Theme) -> Vec<(Rect, Spot)> {
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
        spots.push((line, Spot::Pane(&QuestionPane, place)));
    }
    spots
}

/// The options, or those of the second confirmation, and which is highlighted. One that cannot be selected yet is dim and
/// says why.
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

fn meant(meaning: Meaning, theme: &Theme) -> Style {
    match meaning {
        Meaning::AllowAlways => theme.warning,
        Meaning::RejectOnce | Meaning::RejectAlways => theme.danger,
        Meaning::AllowOnce | Meaning::Other => theme.text,
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
    app.spots.push((area, Spot::Pane(&QuestionPane, FIELD)));
    let placeholder = "Answer in your own words";
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
    if let (Some(lines), false) = (more, app.dialog.reading.is_complete()) {
        return format!("End: read to the end · {lines} more · Ctrl+O opens");
    }
    if app.dialog.reading.unread_bytes() > 0 {
        parts.push("Ctrl+O opens the whole".to_owned());
    }
    match more {
        Some(0) => parts.push("PgUp".to_owned()),
        Some(lines) => parts.push(format!("PgDn {lines} more")),
        None => {}
    }
    let choosing = if in_field { "Enter answers" } else { "number or ↑↓ Enter" };
    parts.push(choosing.to_owned());
    match (in_field, question.options.is_empty(), takes_text(question)) {
        (true, false, _) => parts.push("Tab options".to_owned()),
        (false, _, true) => parts.push("Tab own words".to_owned()),
        _ => {}
    }
    parts.push("Esc interrupts".to_owned());
    parts.join(" · ")
}

/// The field for words of one's own, as a [`Part`].
const FIELD: Part = WHOLE - 1;

/// The question that is asked.
#[derive(Debug)]
pub(super) struct QuestionPane;

impl Pane for QuestionPane {
    fn layer(&self) -> Layer {
        Layer::Above
    }

    fn is_open(&self, app: &App, _state: &State) -> bool {
        app.dialog.is_open()
    }

    fn is_modal(&self) -> bool {
        true
    }

    fn is_focused(&self, app: &App, _state: &State) -> bool {
        app.dialog.is_open() && !app.dialog.is_held()
    }

    fn takes_characters(&self, app: &App, state: &State) -> bool {
        app.dialog.current(state).is_some_and(|(_, question, _)| !app.dialog.in_field(question))
    }

    /// The person was writing when the question came, and still is.
    fn yields(&self, app: &mut App, gesture: &Gesture, now: SystemTime) -> bool {
        let drafting = !app.composer.is_empty();
        if !app.dialog.is_open() || !app.dialog.interrupts(gesture, drafting, now) {
            return false;
        }
        let tab = matches!(gesture, Gesture::Key(press) if press.to_string() == "tab");
        if tab {
            app.dialog.attend();
        } else {
            app.dialog.hold_on(now);
        }
        !tab
    }

    fn typed(&self, app: &mut App, gesture: &Gesture, state: &State, now: SystemTime) -> Option<Vec<Act>> {
        if app.dialog.hidden {
            app.inform("Make the window larger to answer the question; Esc interrupts", now);
            return Some(Vec::new());
        }
        if app.dialog.is_deaf_to(gesture, now) || app.dialog.answers_unseen(gesture) {
            return Some(Vec::new());
        }
        let did = app.dialog.handle(gesture, state);
        Some(app.dialog_did(did, state, now).unwrap_or_else(|| {
            // Keys that move the conversation do so behind a question too; the draft waits.
            app.transcript.handle(gesture);
            Vec::new()
        }))
    }

    fn escape(&self, app: &mut App, state: &State) -> bool {
        app.dialog.leave_field(state)
    }

    fn wheel(&self, app: &mut App, lines: isize) -> Vec<Act> {
        app.dialog.scroll(lines);
        Vec::new()
    }

    fn click(&self, app: &mut App, part: Part, gesture: &Gesture, state: &State, now: SystemTime) -> Vec<Act> {
        match part {
            WHOLE => {}
            FIELD => {
                app.dialog.attend();
                let place = app.dialog.current(state).map_or(0, |(_, question, _)| question.options.len());
                app.dialog.selected = Some(place);
            }
            _ if app.dialog.hidden || app.dialog.is_deaf_to(gesture, now) => {}
            place => {
                let did = app.dialog.choose(place, state);
                return app.dialog_did(did, state, now).unwrap_or_default();
            }
        }
        Vec::new()
    }

    fn sync(&self, app: &mut App, state: &State, _change: &Change, now: SystemTime) {
        app.settle_dialog(state, now);
    }

    fn frame(&self, app: &mut App, state: &State, screen: Rect, moment: &Moment) {
        let size = Size { columns: screen.width, rows: screen.height };
        app.dialog.resize(size, state, moment.now());
        if !fits(size) {
            return;
        }
        if let Some(wake) = app.dialog.frame(moment.now()) {
            moment.wake_in(wake);
        }
    }

    fn rows(&self, app: &mut App, state: &State, screen: Rect, room: u16) -> u16 {
        height(app, state, screen.width, room)
    }

    fn draw(
        &self,
        app: &mut App,
        state: &State,
        buffer: &mut Buffer,
        area: Rect,
        _moment: &Moment,
    ) -> Option<Position> {
        draw(app, buffer, area, state)
    }
}
