//! `wh shot`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bytes::Bytes;
use clap::Args;
use wh_screen::picture;

use crate::door::DoorArguments;
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::files;
use crate::print::print;

/// Take a picture of a run's screen, or compare it with an earlier one
///
/// The picture is the same on every machine: the font comes with wh. With --compare the screen is compared with a picture
/// that was taken before; where they differ, a third picture shows it in red, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh shot screen.png\n  wh shot screen.svg --background light\n  wh shot --compare golden.png || xdg-open golden.diff.png"
))]
pub struct Shot {
    /// Where to write the picture: a name that ends in .png or .svg
    #[arg(required_unless_present = "compare")]
    file: Option<PathBuf>,

    /// Pixels for a point, 1 or 2; PNG only
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    scale: u8,

    /// Colours of what has none of its own: dark (light grey on black) or light (black on white). When absent, those that the
    /// program has set (OSC 10 and 11), else dark. Use light for a program with a light theme
    #[arg(long, value_name = "WHICH", value_parser = ["dark", "light"])]
    background: Option<String>,

    /// Compare the screen with this PNG
    #[arg(long, value_name = "GOLDEN")]
    compare: Option<PathBuf>,

    /// The share of pixels that may differ, 0 to 1
    #[arg(long, default_value_t = 0.0, requires = "compare")]
    threshold: f64,

    /// Where to write the picture of the differences; beside the golden one when absent
    #[arg(long, value_name = "FILE", requires = "compare")]
    diff: Option<PathBuf>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Shot {
    pub fn run(self) -> Result<ExitCode, Failure> {
        if let Some(file) = &self.file {
            let kind = match file.extension().and_then(|extension| extension.to_str()) {
                Some("png") => "screenshot.png",
                Some("svg") => "screenshot.svg",
                _ => {
                    return Err(Failure::new(code::USAGE, format!("{} is no name of a picture", file.display()))
                        .hint("end it in .png or .svg"));
                }
            };
            write(file, &self.picture(kind)?)?;
        }
        match &self.compare {
            Some(golden) => self.compare_with(golden),
            None => Ok(ExitCode::SUCCESS),
        }
    }

    fn picture(&self, kind: &str) -> Result<Bytes, Failure> {
        let scale = self.scale.to_string();
        let mut query = Vec::new();
        if kind.ends_with("png") {
            query.push(("scale", scale.as_str()));
        }
        query.extend(self.background.as_deref().map(|background| ("background", background)));
        self.door.get(kind, &query)?.picture()
    }

    fn compare_with(&self, golden: &Path) -> Result<ExitCode, Failure> {
        let mut expected = Vec::new();
        files::open(golden).and_then(|mut file| file.read_to_end(&mut expected)).map_err(|error| {
            Failure::new(code::FAILED, format!("cannot read {}: {error}", golden.display()))
                .hint("take it first: wh shot GOLDEN.png")
        })?;
        let actual = self.picture("screenshot.png")?;
        let compared =
            picture::compare(&expected, &actual, self.threshold).map_err(|error| Failure::new(code::USAGE, error))?;
        let counted = format!("{} of {} pixels differ", compared.differing, compared.total);
        if self.door.json {
            let report = serde_json::json!({"same": compared.same, "differing": compared.differing, "total": compared.total, "ratio": compared.ratio});
            print(&format!("{report}\n"))?;
        }
        if compared.same {
            return Ok(ExitCode::SUCCESS);
        }
        let diff = self.diff.clone().unwrap_or_else(|| golden.with_extension("diff.png"));
        write(&diff, &compared.diff)?;
        say(&format!("wh: the screen is not {}: {counted}; see {}", golden.display(), diff.display()));
        Ok(ExitCode::from(code::DIFFERENT))
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes)
        .map_err(|error| Failure::new(code::FAILED, format!("cannot write {}: {error}", path.display())))
}
