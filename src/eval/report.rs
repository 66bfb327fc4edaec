//! Reports as Markdown or HTML.

use std::fmt::Write as _;

use super::curve::Point;
use super::pairs::Row;
use super::rate::Rate;

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was measured and how, one fact an entry.
    pub facts: &'a [(String, String)],
    /// The rates.
    pub rows: &'a [Row],
    /// Rates over the threshold; may be empty.
    pub curve: &'a [Point],
    /// The threshold in force.
    pub threshold: f64,
}

/// Headings of the tables of rates.
pub const HEADER: [&str; 5] = ["", "merged", "false merges", "95 % interval", "precision"];

/// A share as people read it: `12 of 40 (30.0 %)`, `–` where nothing was looked at.
pub fn shown(rate: Rate) -> String {
    match rate.share() {
        Some(share) => format!("{} of {} ({:.1} %)", rate.hits, rate.of, 100.0 * share),
        None => "–".to_owned(),
    }
}

/// The cells of a row, as in [`HEADER`].
pub fn cells(row: &Row) -> [String; 5] {
    let name = match (row.by, row.name.as_str()) {
        ("all", _) => "all".to_owned(),
        (_, "") => "(none)".to_owned(),
        (_, name) => name.to_owned(),
    };
    let rates = &row.rates;
    let interval = rates.false_merges.interval().map_or_else(
        || "–".to_owned(),
        |(low, high)| format!("{:.1} – {:.1} %", 100.0 * low, 100.0 * high),
    );
    [
        name,
        shown(rates.recall),
        shown(rates.false_merges),
        interval,
        shown(rates.precision),
    ]
}

/// The rows in their sections: everything with the sources, then languages, then kinds.
fn sections(rows: &[Row]) -> Vec<(&'static str, Vec<&Row>)> {
    let of = |by: &[&str]| rows.iter().filter(|r| by.contains(&r.by)).collect();
    vec![
        ("By source", of(&["all", "source"])),
        ("By language", of(&["lang"])),
        ("By kind", of(&["kind"])),
    ]
}

const TITLE: &str = "Quality of merges";

const NOTE: &str = "Merged: of the pairs that are one fact, those that become one memory. False \
merges: of the pairs that are not, those that do, with Wilson's interval. Precision: of all merges, \
those that are right.";

impl Report<'_> {
    /// As Markdown, the curve as a Mermaid chart.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {TITLE}\n\n");
        for (name, value) in self.facts {
            let _ = writeln!(out, "- {name}: {value}");
        }
        let _ = writeln!(out, "\n{NOTE}");
        for (title, rows) in sections(self.rows) {
            let cells = rows.into_iter().map(cells).collect::<Vec<_>>();
            let _ = writeln!(out, "\n## {title}\n\n{}", markdown_table(&HEADER, &cells));
        }
        if !self.curve.is_empty() {
            let _ = writeln!(out, "## Over the threshold\n\n{}", self.mermaid());
            let rows: Vec<_> = self.curve.iter().map(point_cells).collect();
            let _ = write!(out, "{}", markdown_table(&CURVE_HEADER, &rows));
        }
        out
    }

    /// As one HTML page without scripts or other files, the curve as SVG.
    pub fn html(&self) -> String {
        let mut body = format!("<h1>{TITLE}</h1>\n<ul>\n");
        for (name, value) in self.facts {
            let _ = writeln!(body, "<li>{}: {}</li>", escape(name), escape(value));
        }
        let _ = writeln!(body, "</ul>\n<p>{NOTE}</p>");
        for (title, rows) in sections(self.rows) {
            let cells = rows.into_iter().map(cells).collect::<Vec<_>>();
            let _ = writeln!(body, "<h2>{title}</h2>\n{}", html_table(&HEADER, &cells));
        }
        if !self.curve.is_empty() {
            let rows: Vec<_> = self.curve.iter().map(point_cells).collect();
            let _ = writeln!(
                body,
                "<h2>Over the threshold</h2>\n{}\n{}",
                self.svg(),
                html_table(&CURVE_HEADER, &rows)
            );
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{TITLE}</title>\n\
             <style>{STYLE}</style>\n{body}</html>\n"
        )
    }

    fn mermaid(&self) -> String {
        let percent = |rate: Rate| format!("{:.2}", 100.0 * rate.share().unwrap_or_default());
        let list = |cell: &dyn Fn(&Point) -> String| {
            self.curve.iter().map(cell).collect::<Vec<_>>().join(", ")
        };
        format!(
            "```mermaid\nxychart-beta\n  title \"Merged (upper line) and false merges (lower), %\"\n  \
             x-axis \"cosine distance\" [{}]\n  y-axis \"%\" 0 --> 100\n  line [{}]\n  line [{}]\n```\n",
            list(&|p| format!("{:.2}", p.threshold)),
            list(&|p| percent(p.rates.recall)),
            list(&|p| percent(p.rates.false_merges)),
        )
    }

    fn svg(&self) -> String {
        let last = self.curve.last().map_or(1.0, |p| p.threshold).max(0.01);
        let x = |threshold: f64| 50.0 + 520.0 * (threshold / last).min(1.0);
        let y = |share: f64| 270.0 - 250.0 * share;
        let line = |rate: &dyn Fn(&Point) -> Rate, colour: &str| {
            let points = self.curve.iter().map(|p| {
                let share = rate(p).share().unwrap_or_default();
                format!("{:.1},{:.1}", x(p.threshold), y(share))
            });
            let points = points.collect::<Vec<_>>().join(" ");
            format!(
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{points}\"/>"
            )
        };
        let ticks: String = (0..=4)
            .map(|i| {
                let share = f64::from(i) / 4.0;
                format!(
                    "<text x=\"44\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>\
                     <text x=\"{:.1}\" y=\"288\" text-anchor=\"middle\">{:.2}</text>",
                    y(share) + 4.0,
                    100.0 * share,
                    x(last * share),
                    last * share,
                )
            })
            .collect();
        let force = x(self.threshold);
        format!(
            "<svg viewBox=\"0 0 600 320\" role=\"img\" aria-label=\"rates over the threshold\">\
             <path d=\"M50 20V270H570\" fill=\"none\" stroke=\"#888\"/>{ticks}\
             <line x1=\"{force:.1}\" x2=\"{force:.1}\" y1=\"20\" y2=\"270\" stroke=\"#888\" \
             stroke-dasharray=\"4\"/>{}{}\
             <text x=\"50\" y=\"312\" fill=\"#2a7\">merged</text>\
             <text x=\"130\" y=\"312\" fill=\"#c33\">false merges</text>\
             <text x=\"260\" y=\"312\">dashed: the threshold in force</text></svg>",
            line(&|p| p.rates.recall, "#2a7"),
            line(&|p| p.rates.false_merges, "#c33"),
        )
    }
}

const CURVE_HEADER: [&str; 5] = ["threshold", HEADER[1], HEADER[2], HEADER[3], HEADER[4]];

fn point_cells(point: &Point) -> [String; 5] {
    let row = Row {
        by: "threshold",
        name: format!("{:.2}", point.threshold),
        rates: point.rates.clone(),
    };
    cells(&row)
}

/// A Markdown table.
pub fn markdown_table<const N: usize>(header: &[&str; N], rows: &[[String; N]]) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(header.iter().map(|h| cell(h)).collect());
    out += &line(vec!["---".to_owned(); N]);
    out.extend(
        rows.iter()
            .map(|row| line(row.iter().map(|c| cell(c)).collect())),
    );
    out
}

fn html_table<const N: usize>(header: &[&str; N], rows: &[[String; N]]) -> String {
    let line = |tag: &str, cells: Vec<String>| {
        let cells: String = cells
            .iter()
            .map(|c| format!("<{tag}>{}</{tag}>", escape(c)))
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = line("th", header.iter().map(|h| (*h).to_owned()).collect());
    let body: String = rows.iter().map(|row| line("td", row.to_vec())).collect();
    format!("<table>\n{head}{body}</table>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 \
1em}table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;border-bottom:1px solid \
#ccc;text-align:left}svg{max-width:40em;font-size:12px}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::pairs::Rates;

    fn report() -> (Vec<(String, String)>, Vec<Row>, Vec<Point>) {
        let rates = |hits| Rates {
            recall: Rate {
                hits: 3 * hits,
                of: 10,
            },
            false_merges: Rate { hits, of: 40 },
            precision: Rate {
                hits: 3 * hits,
                of: 4 * hits,
            },
            superseded: Rate::default(),
        };
        let row = |by, name: &str, hits| Row {
            by,
            name: name.into(),
            rates: rates(hits),
        };
        let rows = vec![
            row("all", "", 1),
            row("source", "<a|b>", 1),
            row("lang", "", 0),
            row("kind", "s/number", 0),
        ];
        let point = |threshold, hits| Point {
            threshold,
            rates: rates(hits),
        };
        let facts = vec![("pairs".to_owned(), "50 & more".to_owned())];
        (
            facts,
            rows,
            vec![point(0.0, 0), point(0.1, 1), point(0.2, 2)],
        )
    }

    #[test]
    fn the_report_as_people_get_it() {
        let (facts, rows, curve) = report();
        let report = Report {
            facts: &facts,
            rows: &rows,
            curve: &curve,
            threshold: 0.1,
        };
        insta::assert_snapshot!("markdown", report.markdown());
        insta::assert_snapshot!("html", report.html());
    }
}
