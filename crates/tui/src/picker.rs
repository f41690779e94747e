//! State of a list from which the user chooses a row. Typing filters the rows, Enter chooses a row, Esc closes the
//! list. The caller supplies the rows and handles the choice.

use wh_core::input::{Gesture, KeyPress};

use crate::composer;

/// Maximum number of characters of the filter.
const MAX_FILTER_CHARS: usize = 200;

/// Number of rows that PageUp and PageDown move by.
const PAGE_ROWS: isize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PickerRow {
    /// Key that identifies the row to the caller.
    pub(crate) key: String,
    pub(crate) name: String,
    /// Description shown after the name.
    pub(crate) description: String,
    /// Status shown at the right end.
    pub(crate) status: String,
    /// True if the row is the current choice, such as the model in use.
    pub(crate) current: bool,
    /// True if the row cannot be used at present. The row is drawn dim.
    pub(crate) unavailable: bool,
    /// Text shown below the list while this row is highlighted.
    pub(crate) details: String,
}

/// Effect of a gesture on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PickerOutcome {
    /// The list does not handle the gesture.
    Nothing,
    /// The highlight or the filter may have changed.
    Changed,
    /// The user chose the row with this key.
    Chosen(String),
}

/// List with its filter and the highlighted row.
#[derive(Debug, Default)]
pub(crate) struct Picker {
    rows: Vec<PickerRow>,
    filter: String,
    /// Indexes of the rows that match the filter, in display order.
    shown: Vec<usize>,
    /// Index into `shown` of the highlighted row.
    selected: usize,
    /// True if the user has moved the highlight. New rows then do not move the highlight.
    moved: bool,
    /// True while rows are being loaded.
    pub(crate) loading: bool,
    /// Error that is shown instead of the details of the highlighted row.
    pub(crate) problem: Option<String>,
}

impl Picker {
    /// Replaces the rows. If the user has moved the highlight, the highlighted row stays highlighted. Otherwise, the
    /// current choice is highlighted if the filter is empty, and else the first row.
    pub(crate) fn set_rows(&mut self, rows: Vec<PickerRow>) {
        let on = self.highlighted().map(|row| row.key.clone()).filter(|_| self.moved);
        self.rows = rows;
        self.refilter();
        let kept = on.and_then(|key| self.shown().position(|row| row.key == key));
        let current = self.shown().position(|row| row.current).filter(|_| self.filter.is_empty());
        self.selected = kept.or(current).unwrap_or(0);
    }

    /// Highlights the row with this key, if it matches the filter.
    pub(crate) fn select(&mut self, key: &str) {
        let place = self.shown().position(|row| row.key == key);
        if let Some(place) = place {
            (self.selected, self.moved) = (place, true);
        }
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns the number of rows, including rows that do not match the filter.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows that match the filter, in display order.
    pub(crate) fn shown(&self) -> impl ExactSizeIterator<Item = &PickerRow> {
        self.shown.iter().map(|place| &self.rows[*place])
    }

    pub(crate) fn selected(&self) -> usize {
        self.selected
    }

    pub(crate) fn highlighted(&self) -> Option<&PickerRow> {
        self.rows.get(*self.shown.get(self.selected)?)
    }

    /// Applies the filter: a row matches if its text contains every word of the filter. If no row matches, fuzzy
    /// matching selects and ranks the rows whose name contains the characters of the filter in order.
    fn refilter(&mut self) {
        let wanted = self.filter.to_lowercase();
        let words: Vec<&str> = wanted.split_whitespace().collect();
        let fits = |row: &PickerRow| {
            let said = format!("{} {} {} {}", row.key, row.name, row.description, row.status).to_lowercase();
            words.iter().all(|word| said.contains(word))
        };
        self.shown = (0..self.rows.len()).filter(|place| fits(&self.rows[*place])).collect();
        if self.shown.is_empty() {
            let names: Vec<String> = self.rows.iter().map(|row| row.name.clone()).collect();
            let ranked = composer::rank(&wanted, &names, names.len());
            let places = ranked.into_iter().filter_map(|name| names.iter().position(|known| std::ptr::eq(known, name)));
            self.shown = places.collect();
        }
    }

    fn write(&mut self, change: impl FnOnce(&mut String)) -> PickerOutcome {
        let before = self.filter.clone();
        change(&mut self.filter);
        if self.filter != before {
            (self.moved, self.problem) = (false, None);
            self.refilter();
            let current = self.shown().position(|row| row.current).filter(|_| self.filter.is_empty());
            self.selected = current.unwrap_or(0);
        }
        PickerOutcome::Changed
    }

    /// Moves the highlight by this number of rows, at most to the first or last row.
    pub(crate) fn go(&mut self, rows: isize) {
        let last = self.shown.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
        (self.moved, self.problem) = (true, None);
    }

    /// Moves the highlight by one row, from the last row to the first and vice versa.
    fn step(&mut self, down: bool) {
        let count = self.shown.len().max(1);
        self.selected = (self.selected + if down { 1 } else { count - 1 }) % count;
        (self.moved, self.problem) = (true, None);
    }

    /// Chooses the row at this index among the rows that match the filter, as a click does.
    pub(crate) fn choose(&mut self, place: usize) -> PickerOutcome {
        if place < self.shown.len() {
            (self.selected, self.moved) = (place, true);
        }
        self.highlighted().map_or(PickerOutcome::Changed, |row| PickerOutcome::Chosen(row.key.clone()))
    }

    pub(crate) fn handle(&mut self, gesture: &Gesture) -> PickerOutcome {
        match gesture {
            Gesture::Text(typed) | Gesture::Paste(typed) => self.write(|filter| {
                let room = MAX_FILTER_CHARS.saturating_sub(filter.chars().count());
                let typed = typed.chars().map(|one| if one.is_control() { ' ' } else { one });
                filter.extend(typed.take(room));
            }),
            Gesture::Key(press) => self.press(press),
            Gesture::Mouse(_) => PickerOutcome::Nothing,
        }
    }

    fn press(&mut self, press: &KeyPress) -> PickerOutcome {
        if let Some(typed) = press.text() {
            return self.handle(&Gesture::Text(typed.to_string()));
        }
        match press.to_string().as_str() {
            "enter" => return self.choose(self.selected),
            "up" | "ctrl+p" | "shift+tab" => self.step(false),
            "down" | "ctrl+n" | "tab" => self.step(true),
            "pageup" => self.go(-PAGE_ROWS),
            "pagedown" => self.go(PAGE_ROWS),
            "home" => self.go(isize::MIN),
            "end" => self.go(isize::MAX),
            "backspace" | "ctrl+h" => {
                return self.write(|filter| {
                    filter.pop();
                });
            }
            "ctrl+u" => return self.write(String::clear),
            "ctrl+w" | "alt+backspace" | "ctrl+backspace" => {
                return self.write(|filter| {
                    let kept = filter.trim_end().rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
                    filter.truncate(kept);
                });
            }
            _ => return PickerOutcome::Nothing,
        }
        PickerOutcome::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, description: &str) -> PickerRow {
        PickerRow { key: key.into(), name: key.into(), description: description.into(), ..PickerRow::default() }
    }

    fn models() -> Picker {
        let current = PickerRow { current: true, ..row("sonnet", "for most things") };
        let mut picker = Picker::default();
        picker.set_rows(vec![row("opus", "for hard things"), current, row("haiku", "quick")]);
        picker
    }

    fn press(picker: &mut Picker, names: &[&str]) -> PickerOutcome {
        let each = names.iter().map(|name| picker.handle(&Gesture::Key(name.parse().unwrap())));
        each.last().unwrap_or(PickerOutcome::Nothing)
    }

    fn shown(picker: &Picker) -> Vec<&str> {
        picker.shown().map(|row| row.key.as_str()).collect()
    }

    #[test]
    fn the_one_in_use_is_highlighted_and_enter_chooses() {
        let mut picker = models();
        assert_eq!(press(&mut picker, &["enter"]), PickerOutcome::Chosen("sonnet".into()));
        assert_eq!(
            press(&mut picker, &["down", "down", "enter"]),
            PickerOutcome::Chosen("opus".into()),
            "round the end"
        );
        assert_eq!(press(&mut picker, &["end", "pagedown", "enter"]), PickerOutcome::Chosen("haiku".into()));
    }

    #[test]
    fn typing_filters() {
        let mut picker = models();
        picker.handle(&Gesture::Text("THINGS f".into()));
        assert_eq!(shown(&picker), ["opus", "sonnet"]);
        assert_eq!(picker.selected(), 0);
        picker.handle(&Gesture::Text("zz".into()));
        assert_eq!(shown(&picker), [] as [&str; 0]);
        assert_eq!(press(&mut picker, &["down", "enter"]), PickerOutcome::Changed, "there is nothing to choose");
        assert_eq!(press(&mut picker, &["ctrl+u"]), PickerOutcome::Changed);
        assert_eq!((shown(&picker).len(), picker.selected()), (3, 1));
        picker.handle(&Gesture::Paste("h\nk".into()));
        assert_eq!(picker.filter(), "h k");
        press(&mut picker, &["ctrl+w", "backspace"]);
        assert_eq!(picker.filter(), "h");
    }

    #[test]
    fn characters_in_order_match_if_no_word_does() {
        let mut picker = models();
        picker.handle(&Gesture::Text("hku".into()));
        assert_eq!(shown(&picker), ["haiku"]);
    }

    #[test]
    fn rows_loaded_later_do_not_move_the_highlight() {
        let mut picker = models();
        press(&mut picker, &["down"]);
        picker.set_rows(vec![row("new", ""), row("haiku", ""), row("opus", "")]);
        assert_eq!(picker.highlighted().map(|row| row.key.as_str()), Some("haiku"));
        picker.set_rows(vec![row("new", "")]);
        assert_eq!(picker.highlighted().map(|row| row.key.as_str()), Some("new"));
        picker.set_rows(vec![]);
        assert_eq!(picker.highlighted(), None);
    }
}
