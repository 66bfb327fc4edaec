//! Small charts as inline SVG. Colours come from the style sheet; each bar says its figure.

use std::fmt::Write as _;

use minijinja::HtmlEscape;
use minijinja::value::Value;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 130.0;
/// Room below for the dates and on top for the highest figure.
const BELOW: f64 = 20.0;
const ABOVE: f64 = 18.0;

/// One bar: what it is of, and the figures that stand on each other; none where they are not known.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<u64>,
}

/// Bars over days. `names` are what the parts are called, `title` what the chart shows.
pub(super) fn bars(title: &str, names: &[&str], bars: &[Bar]) -> Value {
    let sum = |bar: &Bar| bar.parts.iter().sum::<u64>();
    let highest = bars.iter().map(sum).max().unwrap_or(0);
    let room = HEIGHT - ABOVE - BELOW;
    let step = WIDTH / bars.len().max(1) as f64;
    let height = |figure: u64| figure as f64 / highest.max(1) as f64 * room;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        HtmlEscape(title)
    );
    let floor = HEIGHT - BELOW;
    for line in [floor, ABOVE] {
        let _ = write!(
            svg,
            "<line class=\"rule\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{line}\" y2=\"{line}\"/>"
        );
    }
    for (i, bar) in bars
        .iter()
        .enumerate()
        .filter(|(_, bar)| !bar.parts.is_empty())
    {
        let said: Vec<String> = names
            .iter()
            .zip(&bar.parts)
            .map(|(name, figure)| format!("{name}: {}", grouped(*figure)))
            .collect();
        let said = format!("{} · {}", bar.label, said.join(" · "));
        let x = i as f64 * step;
        let _ = write!(svg, "<g><title>{}</title>", HtmlEscape(&said));
        // The whole column answers to the pointer, also where its bar is low.
        let _ = write!(
            svg,
            "<rect class=\"column\" x=\"{x:.1}\" y=\"{ABOVE}\" width=\"{step:.1}\" height=\"{room}\"/>"
        );
        let mut top = floor;
        for (series, &figure) in bar.parts.iter().enumerate().filter(|(_, f)| **f > 0) {
            let tall = height(figure).max(1.5);
            top -= tall;
            let (left, wide) = (x + step * 0.15, step * 0.7);
            let _ = write!(
                svg,
                "<rect class=\"series{series}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" \
                 height=\"{tall:.1}\" rx=\"1.5\"/>"
            );
        }
        svg.push_str("</g>");
    }
    let _ = write!(
        svg,
        "<text class=\"figure\" x=\"0\" y=\"11\">{}</text>",
        grouped(highest)
    );
    if let (Some(first), Some(last)) = (bars.first(), bars.last()) {
        let y = HEIGHT - 4.0;
        let _ = write!(
            svg,
            "<text class=\"figure\" x=\"0\" y=\"{y}\">{}</text><text class=\"figure end\" \
             x=\"{WIDTH}\" y=\"{y}\">{}</text>",
            HtmlEscape(&first.label),
            HtmlEscape(&last.label)
        );
    }
    svg.push_str("</svg>");
    Value::from_safe_string(svg)
}

/// A line of small bars, for a table's cell; it says nothing by itself. What is not known has no bar.
pub(super) fn sparkline(figures: &[Option<u64>]) -> Value {
    let highest = figures.iter().flatten().copied().max().unwrap_or(0).max(1);
    let wide = figures.len() as f64 * 4.0;
    let mut svg = format!(
        "<svg class=\"spark\" viewBox=\"0 0 {wide} 20\" aria-hidden=\"true\" focusable=\"false\">"
    );
    for (i, figure) in figures.iter().enumerate() {
        let Some(figure) = *figure else { continue };
        let tall = match figure {
            0 => 1.0,
            figure => (figure as f64 / highest as f64 * 19.0).max(3.0),
        };
        let (x, y) = (i as f64 * 4.0, 20.0 - tall);
        let class = if figure == 0 { "none" } else { "series0" };
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" width=\"3\" height=\"{tall:.1}\"/>"
        );
    }
    svg.push_str("</svg>");
    Value::from_safe_string(svg)
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_chart_says_its_figures_and_escapes_names() {
        let days = [
            Bar {
                label: "a<b".into(),
                parts: vec![3, 1],
            },
            Bar {
                label: "2026-03-02".into(),
                parts: vec![0, 0],
            },
            Bar {
                label: "2026-03-03".into(),
                parts: vec![],
            },
        ];
        let svg = bars("\"Merges\" & more", &["made", "undone"], &days).to_string();
        assert!(svg.contains("a&lt;b · made: 3 · undone: 1"), "{svg}");
        assert!(
            svg.contains("aria-label=\"&quot;Merges&quot; &amp; more\""),
            "{svg}"
        );
        assert!(!svg.contains("style="), "{svg}");
        assert_eq!(svg.matches("<title>").count(), 2, "{svg}");
        assert_eq!(
            bars("none", &[], &[]).to_string().matches("<rect").count(),
            0
        );
        assert_eq!(
            sparkline(&[Some(0), Some(2), None])
                .to_string()
                .matches("<rect")
                .count(),
            2
        );
    }
}
