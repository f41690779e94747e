//! Implements `wh shot`, which takes and compares screenshots.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bytes::Bytes;
use clap::Args;
use wh_screen::picture;

use crate::failure::{CliFailure, code, print_to_stderr, with_exit_codes};
use crate::open_file;
use crate::print::print;
use crate::target::TargetArguments;

/// Take a screenshot of a run, or compare the screen with an earlier screenshot
///
/// Screenshots are identical on every machine, because wh includes its font. With --compare, the screen is compared
/// with a PNG. If the images differ, wh writes a diff image with the differences in red and exits with code 1.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh shot screen.png\n  wh shot screen.svg --background light\n  wh shot --compare golden.png || xdg-open golden.diff.png",     &[code::DIFFERENT, code::REFUSED, code::UNAUTHORISED, code::UNREACHABLE]
))]
pub struct ShotCommand {
    /// Output file, ending in .png or .svg
    #[arg(required_unless_present = "compare")]
    file: Option<PathBuf>,

    /// Scale factor, 1 or 2; PNG only
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    scale: u8,

    /// Default colours: dark (light grey on black) or light (black on white) [default: the colours set by the program
    /// (OSC 10 and 11), else dark]
    #[arg(long, value_name = "COLOURS", value_parser = ["dark", "light"])]
    background: Option<String>,

    /// Compare the screen with this PNG
    #[arg(long, value_name = "GOLDEN")]
    compare: Option<PathBuf>,

    /// Fraction of pixels that may differ, 0 to 1
    #[arg(long, default_value_t = 0.0, requires = "compare")]
    threshold: f64,

    /// Output file for the diff image [default: GOLDEN with the extension .diff.png]
    #[arg(long, value_name = "FILE", requires = "compare")]
    diff: Option<PathBuf>,

    #[command(flatten)]
    target: TargetArguments,
}

impl ShotCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        if let Some(file) = &self.file {
            let kind = match file.extension().and_then(|extension| extension.to_str()) {
                Some("png") => "screenshot.png",
                Some("svg") => "screenshot.svg",
                _ => {
                    return Err(CliFailure::new(code::USAGE, format!("unsupported image type: {}", file.display()))
                        .hint("use a file name that ends in .png or .svg"));
                }
            };
            write(file, &self.picture(kind)?)?;
        }
        match &self.compare {
            Some(golden) => self.compare_with(golden),
            None => Ok(ExitCode::SUCCESS),
        }
    }

    fn picture(&self, kind: &str) -> Result<Bytes, CliFailure> {
        let scale = self.scale.to_string();
        let mut query = Vec::new();
        if kind.ends_with("png") {
            query.push(("scale", scale.as_str()));
        }
        query.extend(self.background.as_deref().map(|background| ("background", background)));
        self.target.get(kind, &query)?.picture()
    }

    fn compare_with(&self, golden: &Path) -> Result<ExitCode, CliFailure> {
        let mut expected = Vec::new();
        open_file::open(golden).and_then(|mut file| file.read_to_end(&mut expected)).map_err(|error| {
            CliFailure::new(code::FAILED, format!("cannot read {}: {error}", golden.display()))
                .hint("take a screenshot first: wh shot GOLDEN.png")
        })?;
        let actual = self.picture("screenshot.png")?;
        let compared = picture::compare(&expected, &actual, self.threshold)
            .map_err(|error| CliFailure::new(code::USAGE, error))?;
        let counted = format!("{} of {} pixels", compared.differing, compared.total);
        if self.target.json {
            let report = serde_json::json!({"same": compared.same, "differing": compared.differing, "total": compared.total, "ratio": compared.ratio});
            print(&format!("{report}\n"))?;
        }
        if compared.same {
            return Ok(ExitCode::SUCCESS);
        }
        let diff = self.diff.clone().unwrap_or_else(|| golden.with_extension("diff.png"));
        write(&diff, &compared.diff)?;
        print_to_stderr(&format!(
            "wh: the screen differs from {} in {counted}; the diff image is {}",
            golden.display(),
            diff.display()
        ));
        Ok(ExitCode::from(code::DIFFERENT))
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliFailure> {
    fs::write(path, bytes)
        .map_err(|error| CliFailure::new(code::FAILED, format!("cannot write {}: {error}", path.display())))
}
