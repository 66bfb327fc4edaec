//! A threshold with its evidence, and the manifest that carries both.

use super::pairs::Row;
use crate::embed::{Calibration, CalibrationRow};

/// Name that a row of the manifest's table has for all pairs together.
const ALL: &str = "all";

/// The evidence for a threshold: the rates at it, of all pairs and by source.
pub fn evidence(budget: f64, rows: &[Row]) -> Calibration {
    let named = |row: &&Row| row.by == "all" || row.by == "source" && !row.name.is_empty();
    let row = |row: &Row| CalibrationRow {
        pairs: if row.by == "all" { ALL } else { &row.name }.to_owned(),
        same_merged: row.rates.recall.hits,
        same: row.rates.recall.of,
        false_merges: row.rates.false_merges.hits,
        not_same: row.rates.false_merges.of,
        at_most: row
            .rates
            .false_merges
            .interval()
            .map(|(_, high)| (high * 1e4).ceil() / 1e4),
    };
    Calibration {
        budget,
        rows: rows.iter().filter(named).map(row).collect(),
    }
}

/// The text of a manifest with another threshold and its evidence; all else, comments included,
/// stays as it is.
pub fn in_manifest(manifest: &str, threshold: f64, calibration: &Calibration) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let (mut in_table, mut ours) = (false, false);
    for line in manifest.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            in_table = true;
            ours = trimmed.starts_with("[calibration]") || trimmed.starts_with("[[calibration.");
        }
        let is_threshold =
            !in_table && trimmed.split('=').next().map(str::trim) == Some("threshold");
        if !ours && !is_threshold && trimmed != NOTE {
            lines.push(line);
        }
    }
    let first_table = lines.iter().position(|line| line.trim().starts_with('['));
    let at = first_table.unwrap_or(lines.len());
    let head = lines[..at].join("\n");
    let tail = lines[at..].join("\n");
    let rows: String = calibration.rows.iter().map(row).collect();
    let evidence = format!("[calibration]\nbudget = {}\n{rows}", calibration.budget);
    let parts = [
        head.trim_end(),
        &format!("{NOTE}\nthreshold = {threshold}"),
        tail.trim_end(),
        evidence.trim_end(),
    ];
    let filled: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    filled.join("\n\n") + "\n"
}

/// Stands above the threshold.
const NOTE: &str = "# Written by `memfold calibrate`; the evidence stands in [calibration].";

fn row(row: &CalibrationRow) -> String {
    let at_most = row
        .at_most
        .map(|high| format!("at_most = {high}\n"))
        .unwrap_or_default();
    format!(
        "\n[[calibration.rows]]\npairs = {}\nsame_merged = {}\nsame = {}\nfalse_merges = {}\n\
         not_same = {}\n{at_most}",
        toml::Value::String(row.pairs.clone()),
        row.same_merged,
        row.same,
        row.false_merges,
        row.not_same,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::pairs::Rates;
    use crate::eval::rate::Rate;

    fn rows() -> Vec<Row> {
        let rates = Rates {
            recall: Rate { hits: 6, of: 10 },
            false_merges: Rate { hits: 0, of: 20 },
            ..Rates::default()
        };
        let row = |by, name: &str| Row {
            by,
            name: name.into(),
            rates: rates.clone(),
        };
        vec![row("all", ""), row("source", "a \"b\""), row("kind", "x")]
    }

    #[test]
    fn only_the_threshold_and_its_evidence_change() {
        let manifest = "# A model.\nname = \"m\" # threshold = 3\nthreshold = 0.5\n\n[[files]]\n\
                        name = \"x.onnx\"\nthreshold = 1\n";
        let calibration = evidence(0.01, &rows());
        let written = in_manifest(manifest, 0.21, &calibration);
        assert_eq!(
            written,
            "# A model.\nname = \"m\" # threshold = 3\n\n# Written by `memfold calibrate`; the \
             evidence stands in [calibration].\nthreshold = 0.21\n\n[[files]]\nname = \"x.onnx\"\n\
             threshold = 1\n\n[calibration]\nbudget = 0.01\n\n[[calibration.rows]]\npairs = \
             \"all\"\nsame_merged = 6\nsame = 10\nfalse_merges = 0\nnot_same = 20\nat_most = \
             0.1612\n\n[[calibration.rows]]\npairs = 'a \"b\"'\nsame_merged = 6\nsame = 10\n\
             false_merges = 0\nnot_same = 20\nat_most = 0.1612\n"
        );
        assert_eq!(in_manifest(&written, 0.21, &calibration), written);
        let other = in_manifest(&written, 0.3, &calibration);
        assert_eq!(in_manifest(&other, 0.21, &calibration), written);
    }
}
