//! Fuzzy matching. A name matches a query if it contains all characters of the query in the same order, possibly with
//! other characters in between.

/// Returns at most `most` names that match the query, best first. Ignores case. An empty query matches all names, and
/// keeps their order.
#[must_use]
pub fn rank<'a>(query: &str, names: &'a [String], most: usize) -> Vec<&'a String> {
    rank_by(query, names, most, String::as_str)
}

pub(super) fn rank_by<'a, T>(query: &str, all: &'a [T], most: usize, name: impl Fn(&T) -> &str) -> Vec<&'a T> {
    let query: Vec<char> = query.chars().flat_map(char::to_lowercase).collect();
    if query.is_empty() {
        return all.iter().take(most).collect();
    }
    let scored = all.iter().filter_map(|one| Some((score(&query, name(one))?, one)));
    let mut scored: Vec<(i64, &T)> = scored.collect();
    // The sort is stable, so equal scores keep their order.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.truncate(most);
    scored.into_iter().map(|(_, one)| one).collect()
}

/// Returns the score of a name; `None` if the name does not match. A match within the last path component scores higher
/// than a match that is spread over several components.
fn score(query: &[char], name: &str) -> Option<i64> {
    let trimmed = name.strip_suffix('/').unwrap_or(name);
    let last = trimmed.rfind('/').map_or(0, |slash| slash + 1);
    let in_last = subsequence(query, &name[last..]).map(|score| score + 40);
    let best = in_last.max(subsequence(query, name))?;
    let length = i64::try_from(name.len()).unwrap_or(i64::MAX).min(400);
    Some(best * 10 - length)
}

/// Returns the score of a subsequence; `None` if the name does not contain it. Consecutive characters and characters at
/// the beginning of a word score higher.
fn subsequence(query: &[char], name: &str) -> Option<i64> {
    let mut wanted = query.iter();
    let mut next = *wanted.next()?;
    let mut score = 0;
    let mut before = None;
    let mut in_a_row = 0;
    for (index, character) in name.chars().enumerate() {
        let begins = match before {
            None => true,
            Some(before) => !char::is_alphanumeric(before) || (before.is_lowercase() && character.is_uppercase()),
        };
        before = Some(character);
        if character.to_lowercase().next() != Some(next) {
            in_a_row = 0;
            continue;
        }
        in_a_row += 1;
        score += 1 + 4 * (in_a_row - 1) + if begins { 8 } else { 0 } + if index == 0 { 8 } else { 0 };
        match wanted.next() {
            Some(letter) => next = *letter,
            None => return Some(score),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(query: &str, names: &[&str]) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        rank(query, &names, 10).into_iter().cloned().collect()
    }

    #[test]
    fn characters_in_order_match_regardless_of_case() {
        assert_eq!(ranked("rdm", &["README.md", "main.rs"]), ["README.md"]);
        assert_eq!(ranked("zz", &["README.md"]), [] as [&str; 0]);
    }

    #[test]
    fn the_beginning_of_the_last_path_component_counts_most() {
        assert_eq!(
            ranked("main", &["src/domain/index.rs", "tests/main_loop.rs", "src/main.rs", "m/a/x/i/n.rs"]),
            ["src/main.rs", "tests/main_loop.rs", "m/a/x/i/n.rs", "src/domain/index.rs"]
        );
        assert_eq!(ranked("he", &["theme", "help"]), ["help", "theme"]);
        assert_eq!(ranked("sm", &["asm.rs", "screen/mouse.rs"]), ["asm.rs", "screen/mouse.rs"]);
    }

    #[test]
    fn an_empty_query_matches_everything_in_its_order() {
        assert_eq!(ranked("", &["b", "a"]), ["b", "a"]);
    }
}
