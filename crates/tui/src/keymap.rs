//! Key bindings: the table of bindable actions and the map from keys to actions. Esc, Ctrl+C and the keys of lists and
//! questions are fixed, so they are not in the table.

use std::collections::HashMap;

use wh_core::input::KeyPress;

/// Keys that cannot be bound: Esc closes and interrupts, Ctrl+C interrupts and quits.
const RESERVED_KEYS: [&str; 2] = ["escape", "ctrl+c"];

/// Action of the whole UI, available regardless of the input focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScreenAction {
    /// Quits if the input is empty.
    Leave,
    /// Redraws the whole screen.
    Redraw,
    /// Opens or closes the list of key bindings.
    Keys,
    /// Opens or closes the signal board.
    SignalBoard,
    /// Shows or hides the details of items.
    Details,
    /// Shows or hides stream data.
    Streams,
    /// Opens or closes the tool sidebar.
    Tools,
    /// Opens or closes the list of agents.
    Agents,
    /// Opens or closes the list of models.
    Models,
    /// Opens or closes the list of saved conversations.
    Conversations,
    /// Switches the addressed agent to its next mode.
    NextMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditAction {
    /// Submits the text.
    Submit,
    /// Inserts a line break.
    Newline,
    /// Moves the caret one character to the left.
    Left,
    /// Moves the caret one character to the right.
    Right,
    /// Moves the caret one word to the left.
    WordLeft,
    /// Moves the caret one word to the right.
    WordRight,
    /// Moves the caret to the beginning of the line.
    LineStart,
    /// Moves the caret to the end of the line.
    LineEnd,
    /// Moves the caret to the beginning of the text.
    TextStart,
    /// Moves the caret to the end of the text.
    TextEnd,
    /// Moves the caret one row up; in the first row, recalls the previous history entry.
    Up,
    /// Moves the caret one row down; in the last row, recalls the next history entry.
    Down,
    /// Deletes the character before the caret.
    DeleteLeft,
    /// Deletes the character at the caret.
    DeleteRight,
    /// Cuts the word before the caret.
    CutWordLeft,
    /// Cuts the word after the caret.
    CutWordRight,
    /// Cuts the text before the caret, back to the previous whitespace.
    CutBlankLeft,
    /// Cuts the text before the caret, back to the beginning of the line.
    CutLineStart,
    /// Cuts the text after the caret, up to the end of the line.
    CutLineEnd,
    /// Inserts the most recently cut text (yank).
    Yank,
    /// Replaces the text that was just yanked with the next older cut.
    YankOlder,
    /// Undoes the last change.
    Undo,
    /// Redoes the last change that was undone.
    Redo,
}

/// Action that keys can be bound to, either of the screen or of the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BindableAction {
    Screen(ScreenAction),
    Edit(EditAction),
}

/// Entry of the table `ACTIONS`: an action with its name, default keys and description.
#[derive(Debug)]
pub struct ActionRow {
    pub action: BindableAction,
    /// Name of the action in settings.
    pub name: &'static str,
    /// Default keys. Keys from the settings replace all default keys of the action.
    pub keys: &'static [&'static str],
    /// Description for the list of keys and the documentation.
    pub description: &'static str,
}

const fn screen(
    action: ScreenAction,
    name: &'static str,
    keys: &'static [&'static str],
    description: &'static str,
) -> ActionRow {
    ActionRow { action: BindableAction::Screen(action), name, keys, description }
}

const fn edit(
    action: EditAction,
    name: &'static str,
    keys: &'static [&'static str],
    description: &'static str,
) -> ActionRow {
    ActionRow { action: BindableAction::Edit(action), name, keys, description }
}

const NEWLINE_KEYS: &[&str] = &["shift+enter", "alt+enter", "ctrl+enter", "alt+shift+enter", "ctrl+j", "ctrl+alt+j"];

pub const ACTIONS: [ActionRow; 34] = [
    screen(ScreenAction::Leave, "leave", &["ctrl+d"], "Quit, if the input is empty"),
    screen(ScreenAction::Redraw, "redraw", &["ctrl+l"], "Redraw the screen"),
    screen(ScreenAction::Keys, "keys", &["f1"], "Open or close the list of keys"),
    screen(ScreenAction::SignalBoard, "signal_board", &["f2", "ctrl+t"], "Open or close the signal board"),
    screen(ScreenAction::Details, "details", &["f3"], "Show or hide details"),
    screen(ScreenAction::Streams, "streams", &["f4"], "Show or hide stream data"),
    screen(ScreenAction::Tools, "tools", &["f5"], "Open or close the tool sidebar"),
    screen(ScreenAction::Agents, "agents", &["f6"], "Open or close the list of agents"),
    screen(ScreenAction::Models, "models", &["f7"], "Open or close the list of models"),
    screen(ScreenAction::Conversations, "conversations", &["f8"], "Open or close the list of saved conversations"),
    screen(ScreenAction::NextMode, "next_mode", &["shift+tab"], "Switch to the agent's next mode"),
    edit(EditAction::Submit, "submit", &["enter"], "Send the message"),
    edit(EditAction::Newline, "newline", NEWLINE_KEYS, "Insert a line break"),
    edit(EditAction::Left, "left", &["left", "ctrl+b"], "Move one character left"),
    edit(EditAction::Right, "right", &["right", "ctrl+f"], "Move one character right"),
    edit(EditAction::WordLeft, "word_left", &["ctrl+left", "alt+left", "alt+b"], "Move one word left"),
    edit(EditAction::WordRight, "word_right", &["ctrl+right", "alt+right", "alt+f"], "Move one word right"),
    edit(EditAction::LineStart, "line_start", &["home", "ctrl+a"], "Move to the beginning of the line"),
    edit(EditAction::LineEnd, "line_end", &["end", "ctrl+e"], "Move to the end of the line"),
    edit(EditAction::TextStart, "text_start", &["ctrl+home", "alt+<"], "Move to the beginning of the text"),
    edit(EditAction::TextEnd, "text_end", &["ctrl+end", "alt+>"], "Move to the end of the text"),
    edit(EditAction::Up, "up", &["up", "ctrl+p"], "Move one row up, or recall the previous history entry"),
    edit(EditAction::Down, "down", &["down", "ctrl+n"], "Move one row down, or recall the next history entry"),
    edit(
        EditAction::DeleteLeft,
        "delete_left",
        &["backspace", "shift+backspace", "ctrl+h"],
        "Delete the character before the cursor",
    ),
    edit(EditAction::DeleteRight, "delete_right", &["delete", "ctrl+d"], "Delete the character at the cursor"),
    edit(
        EditAction::CutWordLeft,
        "cut_word_left",
        &["alt+backspace", "ctrl+backspace"],
        "Cut the word before the cursor",
    ),
    edit(
        EditAction::CutWordRight,
        "cut_word_right",
        &["alt+d", "ctrl+delete", "alt+delete"],
        "Cut the word after the cursor",
    ),
    edit(EditAction::CutBlankLeft, "cut_blank_left", &["ctrl+w"], "Cut back to the previous space"),
    edit(EditAction::CutLineStart, "cut_line_start", &["ctrl+u"], "Cut to the beginning of the line"),
    edit(EditAction::CutLineEnd, "cut_line_end", &["ctrl+k"], "Cut to the end of the line"),
    edit(EditAction::Yank, "yank", &["ctrl+y"], "Paste (yank) the last cut"),
    edit(EditAction::YankOlder, "yank_older", &["alt+y"], "Replace the text just pasted (yanked) with an earlier cut"),
    edit(EditAction::Undo, "undo", &["ctrl+z", "ctrl+_", "ctrl+/"], "Undo"),
    edit(EditAction::Redo, "redo", &["ctrl+shift+z", "alt+z", "alt+_"], "Redo"),
];

/// Reason why a key binding is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// The key types a character, so binding it would prevent typing that character.
    #[error("{0} types a character and cannot be bound; add ctrl or alt, or choose a function key")]
    Text(String),
    /// The key is reserved: `escape` or `ctrl+c`.
    #[error("{0} cannot be bound; it is reserved for closing, interrupting and quitting")]
    Reserved(String),
    /// The key is bound to two different actions.
    #[error("{key} is bound to both {first} and {second}")]
    Twice {
        key: String,
        /// The action that was bound first.
        first: &'static str,
        /// The action that was bound second.
        second: &'static str,
    },
}

/// Returns an error if the key types a character or is reserved.
pub fn check(press: KeyPress) -> Result<(), BindingError> {
    let name = press.to_string();
    if press.text().is_some() {
        return Err(BindingError::Text(name));
    }
    if RESERVED_KEYS.contains(&name.as_str()) {
        return Err(BindingError::Reserved(name));
    }
    Ok(())
}

/// Map from each bound key to its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    screen: HashMap<KeyPress, ScreenAction>,
    edit: HashMap<KeyPress, EditAction>,
    /// Keys from the settings, by action. The default keys of an action listed here are not used.
    chosen: Vec<(BindableAction, Vec<KeyPress>)>,
}

impl Default for KeyMap {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl KeyMap {
    /// Creates a map that replaces the default keys of each of these actions with the given keys. A given key that is a
    /// default key of another action is unbound from that action.
    pub fn new(chosen: Vec<(BindableAction, Vec<KeyPress>)>) -> Result<Self, BindingError> {
        let mut taken: HashMap<KeyPress, BindableAction> = HashMap::new();
        for (action, keys) in &chosen {
            for press in keys {
                check(*press)?;
                if let Some(other) = taken.insert(*press, *action).filter(|other| other != action) {
                    let (key, first, second) = (press.to_string(), name(other), name(*action));
                    return Err(BindingError::Twice { key, first, second });
                }
            }
        }
        Ok(Self::of(chosen))
    }

    fn of(chosen: Vec<(BindableAction, Vec<KeyPress>)>) -> Self {
        let mut map = Self { screen: HashMap::new(), edit: HashMap::new(), chosen };
        for row in &ACTIONS {
            for press in map.keys_of(row.action) {
                match row.action {
                    BindableAction::Screen(action) => drop(map.screen.insert(press, action)),
                    BindableAction::Edit(action) => drop(map.edit.insert(press, action)),
                }
            }
        }
        map
    }

    /// Returns the keys of an action: the keys from the settings, or else the default keys that are not bound to
    /// another action.
    #[must_use]
    pub fn keys_of(&self, action: BindableAction) -> Vec<KeyPress> {
        if let Some((_, keys)) = self.chosen.iter().find(|(one, _)| *one == action) {
            return keys.clone();
        }
        let taken = |press: &KeyPress| self.chosen.iter().any(|(_, keys)| keys.contains(press));
        let own = ACTIONS.iter().filter(|row| row.action == action).flat_map(|row| row.keys);
        own.filter_map(|name| name.parse().ok()).filter(|press| !taken(press)).collect()
    }

    /// Returns true if the keys of the action are exactly its default keys.
    #[must_use]
    pub fn is_default(&self, action: BindableAction) -> bool {
        let own = ACTIONS.iter().find(|row| row.action == action).map_or(0, |row| row.keys.len());
        !self.chosen.iter().any(|(one, _)| *one == action) && self.keys_of(action).len() == own
    }

    /// Returns the screen action that this key is bound to.
    #[must_use]
    pub fn screen(&self, press: &KeyPress) -> Option<ScreenAction> {
        self.screen.get(&KeyPress::new(press.key, press.modifiers)).copied()
    }

    /// Returns the composer action that this key is bound to.
    #[must_use]
    pub fn edit(&self, press: &KeyPress) -> Option<EditAction> {
        self.edit.get(&KeyPress::new(press.key, press.modifiers)).copied()
    }
}

fn name(action: BindableAction) -> &'static str {
    ACTIONS.iter().find(|row| row.action == action).map_or("", |row| row.name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn press(name: &str) -> KeyPress {
        name.parse().unwrap()
    }

    const UNDO: BindableAction = BindableAction::Edit(EditAction::Undo);
    const TOOLS: BindableAction = BindableAction::Screen(ScreenAction::Tools);

    #[test]
    fn each_action_stands_once_in_the_table_with_keys_that_exist() {
        let names: HashSet<&str> = ACTIONS.iter().map(|row| row.name).collect();
        let actions: HashSet<BindableAction> = ACTIONS.iter().map(|row| row.action).collect();
        assert_eq!((names.len(), actions.len()), (ACTIONS.len(), ACTIONS.len()));
        let keys = KeyMap::default();
        for row in &ACTIONS {
            assert_eq!(keys.keys_of(row.action).len(), row.keys.len(), "{}", row.name);
            for key in row.keys {
                assert_eq!(press(key).to_string(), *key, "the canonical name");
                check(press(key)).unwrap();
            }
        }
        assert_eq!(keys.edit(&press("ctrl+shift+z")), Some(EditAction::Redo));
        assert_eq!(keys.screen(&press("ctrl+t")), Some(ScreenAction::SignalBoard));
    }

    #[test]
    fn a_key_that_is_bound_is_taken_from_every_other_action() {
        let keys = KeyMap::new(vec![(UNDO, vec![press("f5"), press("ctrl+k")])]).unwrap();
        assert_eq!(keys.edit(&press("f5")), Some(EditAction::Undo));
        assert_eq!(keys.edit(&press("ctrl+k")), Some(EditAction::Undo));
        assert_eq!((keys.edit(&press("ctrl+z")), keys.screen(&press("f5"))), (None, None));
        assert!(!keys.is_default(UNDO) && !keys.is_default(TOOLS));
        assert!(keys.is_default(BindableAction::Edit(EditAction::Redo)));
    }

    #[test]
    fn reserved_and_text_keys_are_refused() {
        let bind = |keys: &[(BindableAction, &str)]| {
            KeyMap::new(keys.iter().map(|(action, key)| (*action, vec![press(key)])).collect()).unwrap_err().to_string()
        };
        assert!(bind(&[(UNDO, "x")]).contains("types a character"));
        assert!(bind(&[(UNDO, "Ctrl+C")]).contains("cannot be bound"));
        assert_eq!(bind(&[(UNDO, "f9"), (TOOLS, "f9")]), "f9 is bound to both undo and tools");
    }
}
