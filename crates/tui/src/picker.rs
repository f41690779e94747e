//! A list to choose from: it is filtered by typing, Enter chooses, Esc leaves. What is listed, and what a choice means, is
//! its user's matter.

use wh_core::input::{Gesture, KeyPress};

use crate::composer;

/// Characters of a filter: more are on no screen.
const LONGEST_FILTER: usize = 200;

/// Rows by which a page moves.
const PAGE: isize = 8;

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    /// What it is chosen by.
    pub(crate) key: String,
    /// Its name.
    pub(crate) name: String,
    /// What it is, beside its name.
    pub(crate) about: String,
    /// How it is, at the right end.
    pub(crate) aside: String,
    /// It is the one in use.
    pub(crate) current: bool,
    /// It cannot be used as it is.
    pub(crate) faded: bool,
    /// What is said of it while it is highlighted.
    pub(crate) details: String,
}

/// What came of a gesture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Picked {
    /// It is not for the list.
    Nothing,
    /// Something is highlighted or filtered otherwise.
    Changed,
    /// This one.
    Chosen(String),
}

/// The list's state.
#[derive(Debug, Default)]
pub(crate) struct Picker {
    rows: Vec<Row>,
    filter: String,
    /// The places of the rows that fit the filter, as they are shown.
    shown: Vec<usize>,
    /// Which of those is highlighted.
    selected: usize,
    /// The person has moved: what comes later does not move the highlight.
    moved: bool,
    /// More may come.
    pub(crate) looking: bool,
    /// What went wrong, instead of what is said of the highlighted one.
    pub(crate) problem: Option<String>,
}

impl Picker {
    /// Lists these instead. The highlight stays with what it is on; at first that is the one in use.
    pub(crate) fn put(&mut self, rows: Vec<Row>) {
        let on = self.highlighted().map(|row| row.key.clone()).filter(|_| self.moved);
        self.rows = rows;
        self.refilter();
        let kept = on.and_then(|key| self.shown().position(|row| row.key == key));
        let current = self.shown().position(|row| row.current).filter(|_| self.filter.is_empty());
        self.selected = kept.or(current).unwrap_or(0);
    }

    /// Highlights this one.
    pub(crate) fn select(&mut self, key: &str) {
        let place = self.shown().position(|row| row.key == key);
        if let Some(place) = place {
            (self.selected, self.moved) = (place, true);
        }
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// How many there are, whether they are shown or not.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Those that are shown, in their order.
    pub(crate) fn shown(&self) -> impl ExactSizeIterator<Item = &Row> {
        self.shown.iter().map(|place| &self.rows[*place])
    }

    pub(crate) fn selected(&self) -> usize {
        self.selected
    }

    pub(crate) fn highlighted(&self) -> Option<&Row> {
        self.rows.get(*self.shown.get(self.selected)?)
    }

    /// Every word of the filter is in what is shown of a row. Where no row has them all: those whose name has its letters
    /// in this order, the likeliest first.
    fn refilter(&mut self) {
        let wanted = self.filter.to_lowercase();
        let words: Vec<&str> = wanted.split_whitespace().collect();
        let fits = |row: &Row| {
            let said = format!("{} {} {} {}", row.key, row.name, row.about, row.aside).to_lowercase();
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

    fn write(&mut self, change: impl FnOnce(&mut String)) -> Picked {
        let before = self.filter.clone();
        change(&mut self.filter);
        if self.filter != before {
            (self.moved, self.problem) = (false, None);
            self.refilter();
            let current = self.shown().position(|row| row.current).filter(|_| self.filter.is_empty());
            self.selected = current.unwrap_or(0);
        }
        Picked::Changed
    }

    /// Moves the highlight, and stops at the ends.
    pub(crate) fn go(&mut self, rows: isize) {
        let last = self.shown.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
        (self.moved, self.problem) = (true, None);
    }

    /// Moves the highlight by one, from one end to the other.
    fn step(&mut self, down: bool) {
        let count = self.shown.len().max(1);
        self.selected = (self.selected + if down { 1 } else { count - 1 }) % count;
        (self.moved, self.problem) = (true, None);
    }

    /// Chooses the row at this place among those that are shown, as a click does.
    pub(crate) fn choose(&mut self, place: usize) -> Picked {
        if place < self.shown.len() {
            (self.selected, self.moved) = (place, true);
        }
        self.highlighted().map_or(Picked::Changed, |row| Picked::Chosen(row.key.clone()))
    }

    pub(crate) fn handle(&mut self, gesture: &Gesture) -> Picked {
        match gesture {
            Gesture::Text(typed) | Gesture::Paste(typed) => self.write(|filter| {
                let room = LONGEST_FILTER.saturating_sub(filter.chars().count());
                let typed = typed.chars().map(|one| if one.is_control() { ' ' } else { one });
                filter.extend(typed.take(room));
            }),
            Gesture::Key(press) => self.press(press),
            Gesture::Mouse(_) => Picked::Nothing,
        }
    }

    fn press(&mut self, press: &KeyPress) -> Picked {
        if let Some(typed) = press.text() {
            return self.handle(&Gesture::Text(typed.to_string()));
        }
        match press.to_string().as_str() {
            "enter" => return self.choose(self.selected),
            "up" | "ctrl+p" | "shift+tab" => self.step(false),
            "down" | "ctrl+n" | "tab" => self.step(true),
            "pageup" => self.go(-PAGE),
            "pagedown" => self.go(PAGE),
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
            _ => return Picked::Nothing,
        }
        Picked::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, about: &str) -> Row {
        Row { key: key.into(), name: key.into(), about: about.into(), ..Row::default() }
    }

    fn models() -> Picker {
        let current = Row { current: true, ..row("sonnet", "for most things") };
        let mut picker = Picker::default();
        picker.put(vec![row("opus", "for hard things"), current, row("haiku", "quick")]);
        picker
    }

    fn press(picker: &mut Picker, names: &[&str]) -> Picked {
        let each = names.iter().map(|name| picker.handle(&Gesture::Key(name.parse().unwrap())));
        each.last().unwrap_or(Picked::Nothing)
    }

    fn shown(picker: &Picker) -> Vec<&str> {
        picker.shown().map(|row| row.key.as_str()).collect()
    }

    #[test]
    fn the_one_in_use_is_highlighted_and_enter_chooses() {
        let mut picker = models();
        assert_eq!(press(&mut picker, &["enter"]), Picked::Chosen("sonnet".into()));
        assert_eq!(press(&mut picker, &["down", "down", "enter"]), Picked::Chosen("opus".into()), "round the end");
        assert_eq!(press(&mut picker, &["end", "pagedown", "enter"]), Picked::Chosen("haiku".into()));
    }

    #[test]
    fn typing_filters() {
        let mut picker = models();
        picker.handle(&Gesture::Text("THINGS f".into()));
        assert_eq!(shown(&picker), ["opus", "sonnet"]);
        assert_eq!(picker.selected(), 0);
        picker.handle(&Gesture::Text("zz".into()));
        assert_eq!(shown(&picker), [] as [&str; 0]);
        assert_eq!(press(&mut picker, &["down", "enter"]), Picked::Changed, "there is nothing to choose");
        assert_eq!(press(&mut picker, &["ctrl+u"]), Picked::Changed);
        assert_eq!((shown(&picker).len(), picker.selected()), (3, 1));
        picker.handle(&Gesture::Paste("h\nk".into()));
        assert_eq!(picker.filter(), "h k");
        press(&mut picker, &["ctrl+w", "backspace"]);
        assert_eq!(picker.filter(), "h");
    }

    #[test]
    fn letters_in_their_order_fit_where_no_word_does() {
        let mut picker = models();
        picker.handle(&Gesture::Text("hku".into()));
        assert_eq!(shown(&picker), ["haiku"]);
    }

    #[test]
    fn what_comes_later_does_not_move_the_highlight() {
        let mut picker = models();
        press(&mut picker, &["down"]);
        picker.put(vec![row("new", ""), row("haiku", ""), row("opus", "")]);
        assert_eq!(picker.highlighted().map(|row| row.key.as_str()), Some("haiku"));
        picker.put(vec![row("new", "")]);
        assert_eq!(picker.highlighted().map(|row| row.key.as_str()), Some("new"));
        picker.put(vec![]);
        assert_eq!(picker.highlighted(), None);
    }
}
