//! Tricks that write: Markdown, code, tables, long and wide text, a thought, and a slow answer.

use crate::stage::{DemoTask, TrickResult};

/// Number of lines of the long answer.
const LONG_ANSWER_LINES: usize = 80;

/// Delay before each word of the slow answer, in multiples of the time per word.
const SLOW_ANSWER_FACTOR: u32 = 20;

const MARKDOWN: &str = "\
# The harbour log

A **bold** word, an *italic* one, ~~a mistake~~, `code` in a line, and a [link](https://example.org/log).

## What came in

1. *Swallow*, with
   - forty barrels of **tar**
   - one letter, `sealed`
2. *Kittiwake*, empty
3. *Petrel*, late

> The wind turned at noon.
> Nobody complained.

### What is left to do

- [x] count the barrels
- [ ] read the letter
- [ ] wait for the *Petrel*

---

That is all for today.
";

const CODE: &str = "\
The same function in three languages. In Rust:

```rust
/// Greets a visitor.
fn greet(name: &str) -> String {
    let word = if name.is_empty() { \"Hello\" } else { \"Welcome\" };
    format!(\"{word}, {name}!\") // 1 of 3
}
```

in Python:

```python
def greet(name: str) -> str:
    \"\"\"Greets a visitor.\"\"\"
    word = \"Welcome\" if name else \"Hello\"
    return f\"{word}, {name}!\"  # 2 of 3
```

and in a shell:

```sh
greet() { printf '%s, %s!\\n' \"${1:+Welcome}\" \"$1\"; }  # 3 of 3
```

As JSON: `{\"word\": \"Welcome\", \"name\": null}`.
";

const TABLE: &str = "\
Ships in the harbour:

| ship | cargo | barrels | since |
|:---|:---|---:|:---:|
| *Swallow* | tar | 40 | 08:15 |
| *Kittiwake* | none | 0 | 09:40 |
| *Petrel* | **oranges**, salt | 1200 | 11:05 |

Numbers are aligned to the right, times are centred.
";

const WIDE: &str = "\
Wide characters take two columns each:

- 日本語: 港に船が着きました。
- 中文：欢迎登船，请看右边的表格。
- 한국어: 어서 오세요.
- emoji: ⚓ 🚢 🧭 🌊 👩‍🚀 🇳🇴 👍🏽 ❤️
- marks: \u{e9} (one letter), e\u{301} (a letter and a combining mark), ñ, ฝั่ง

| 名前 | emoji | columns |
|---|---|---:|
| 燕 | 🐦 | 2 |
| カモメ | 🕊️ | 6 |
| swallow | 🚢🚢 | 7 |

```text
│ 一二三 │ abc │
│ abcdef │ 🙂c │
```
";

const SLOW_TEXT: &str = "\
I write this answer slowly, and send every word separately, so that you can watch the answer grow. Meanwhile you can \
scroll up, type the next message, or press **Esc** to interrupt me. If you interrupt me, the text that I have sent so far \
stays, the turn ends as cancelled, and I accept the next message. If you do not interrupt me, the turn ends after this \
sentence, which is the last one.";

impl DemoTask {
    pub async fn markdown(&mut self) -> TrickResult {
        self.speak(MARKDOWN).await.map(drop)
    }

    pub async fn code(&mut self) -> TrickResult {
        self.speak(CODE).await.map(drop)
    }

    pub async fn table(&mut self) -> TrickResult {
        self.speak(TABLE).await.map(drop)
    }

    pub async fn wide(&mut self) -> TrickResult {
        self.speak(WIDE).await.map(drop)
    }

    pub async fn long(&mut self) -> TrickResult {
        let sights = ["a gull", "a buoy", "two sails far off", "a seal", "nothing but water", "a drifting barrel"];
        let mut text = format!("A log of {LONG_ANSWER_LINES} lines:\n\n");
        for number in 1..=LONG_ANSWER_LINES {
            let sight = self.chance.pick(&sights);
            text.push_str(&format!("{number}. At mark {number} we saw {sight}, and continued.\n"));
        }
        text.push_str("\nThat was the last line.\n");
        self.speak_in(text.split_inclusive('\n'), 3, Vec::new()).await.map(drop)
    }

    pub async fn slow(&mut self) -> TrickResult {
        self.speak_in(SLOW_TEXT.split_inclusive(' '), SLOW_ANSWER_FACTOR, Vec::new()).await.map(drop)
    }

    pub async fn ponder(&mut self) -> TrickResult {
        let start = self.chance.pick(&["Suppose", "Let us say", "Imagine"]);
        let thought = format!(
            "{start} that a ship needs three days to the island and two days back. Then the wind helps on the way back, or \
             the cargo is lighter. But the cargo is the same on both ways. So it could be the wind. But the log says calm \
             weather for all five days. Then it is the current, which runs from the island to the coast all year round. \
             That explains the two days, and also why there is driftwood on our coast. I check it with last year's log: \
             three days and two days, as this year. So the current is the reason."
        );
        self.think("working out why the way back is shorter", &thought).await?;
        self.speak(
            "I thought about it: the way back is shorter because **the current runs from the island to the coast**.",
        )
        .await
        .map(drop)
    }
}
