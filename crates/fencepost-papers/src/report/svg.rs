//! Charts as plain SVG text: grouped bars and stacked bars.

use std::fmt::Write as _;

/// Colours that stay apart for most kinds of colour vision, used in order.
const PALETTE: [&str; 10] = [
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222255", "#994455", "#997700",
];
const LEFT: f64 = 56.0;
const TOP: f64 = 34.0;
const PLOT: f64 = 210.0;
const LEGEND_LINE: f64 = 18.0;

/// A named row of values, one per group; `None` where there is no run.
pub struct Series {
    /// Name, as the legend prints it.
    pub name: String,
    /// Values.
    pub values: Vec<Option<f64>>,
}

/// A bar chart.
pub struct Chart<'a> {
    /// Title.
    pub title: &'a str,
    /// Label of the vertical axis.
    pub unit: &'a str,
    /// Labels of the groups of bars.
    pub groups: &'a [String],
    /// What the bars show.
    pub series: &'a [Series],
    /// Stack the series of a group on one bar instead of standing them side by side.
    pub stacked: bool,
    /// A horizontal line at this value (one, for slowdowns).
    pub reference: Option<f64>,
}

/// Text made safe for XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A stall cause has one colour in every chart; other series take the palette in order.
fn colour(name: &str, i: usize) -> &'static str {
    const FIXED: [(&str, &str); 12] = [
        ("busy", "#4477aa"),
        ("lock-wait", "#ee6677"),
        ("load-memory", "#ccbb44"),
        ("load-cache", "#eedd88"),
        ("store-drain", "#aa3377"),
        ("flush-pending", "#66ccee"),
        ("pcommit-pending", "#228833"),
        ("commit-exclusive", "#99ddaa"),
        ("persist-buffer-full", "#222255"),
        ("fence-slots", "#994455"),
        ("drain-pending", "#997700"),
        ("other", "#bbbbbb"),
    ];
    FIXED
        .iter()
        .find(|f| f.0 == name)
        .map_or(PALETTE[i % PALETTE.len()], |f| f.1)
}

/// Rounds up to 1, 2 or 5 times a power of ten, so that axis labels are round.
fn nice(v: f64) -> f64 {
    let base = 10f64.powf(v.max(1e-12).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .iter()
        .map(|m| m * base)
        .find(|n| *n >= v * (1.0 - 1e-9))
        .unwrap_or(v)
}

impl Chart<'_> {
    fn highest(&self) -> f64 {
        let group = |g: usize| {
            let v = self.series.iter().filter_map(|s| s.values.get(g).copied().flatten());
            if self.stacked {
                v.sum::<f64>()
            } else {
                v.fold(0.0, f64::max)
            }
        };
        (0..self.groups.len())
            .map(group)
            .fold(self.reference.unwrap_or(0.0), f64::max)
    }

    /// The chart as an `<svg>` element.
    pub fn render(&self) -> String {
        let bars = if self.stacked { 1 } else { self.series.len().max(1) };
        let bar = if self.stacked {
            34.0
        } else {
            (120.0 / bars as f64).clamp(9.0, 26.0)
        };
        let group = bar * bars as f64 + 26.0;
        let label_width = 7.0 * self.groups.iter().map(|g| g.chars().count()).max().unwrap_or(0) as f64;
        let slanted = label_width > group;
        let foot = if slanted { 20.0 + label_width * 0.6 } else { 24.0 };
        let columns = 4.min(self.series.len().max(1));
        let legend = self.series.len().div_ceil(columns) as f64 * LEGEND_LINE;
        let width = (LEFT + group * self.groups.len() as f64 + 20.0).max(720.0);
        let height = TOP + PLOT + foot + legend + 12.0;
        let step = nice(self.highest() / 5.0).max(1e-12);
        let top = (self.highest() / step - 1e-6).ceil().max(1.0) * step;
        let y = |v: f64| TOP + PLOT * (1.0 - v / top);
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" role=\"img\" \
             font-family=\"sans-serif\" font-size=\"12\"><title>{t}</title><text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{t}</text>",
            t = escape(self.title)
        );
        self.axis(&mut out, width, step, top, &y);
        for g in 0..self.groups.len() {
            let x = LEFT + 13.0 + group * g as f64;
            self.bars(&mut out, g, x, bar, &y);
            let (cx, ly) = (x + (group - 26.0) / 2.0, TOP + PLOT + 16.0);
            let turn = if slanted {
                format!(" text-anchor=\"end\" transform=\"rotate(-35 {cx:.1} {ly:.1})\"")
            } else {
                " text-anchor=\"middle\"".into()
            };
            let _ = write!(
                out,
                "<text x=\"{cx:.1}\" y=\"{ly:.1}\"{turn}>{}</text>",
                escape(&self.groups[g])
            );
        }
        for (i, s) in self.series.iter().enumerate() {
            let x = LEFT + (i % columns) as f64 * (width - LEFT) / columns as f64;
            let ly = TOP + PLOT + foot + 8.0 + (i / columns) as f64 * LEGEND_LINE;
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"11\" height=\"11\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{ly:.1}\">{}</text>",
                ly - 10.0,
                colour(&s.name, i),
                x + 16.0,
                escape(&s.name)
            );
        }
        out.push_str("</svg>");
        out
    }

    fn axis(&self, out: &mut String, width: f64, step: f64, top: f64, y: &dyn Fn(f64) -> f64) {
        let mut v = 0.0;
        while v <= top * (1.0 + 1e-9) {
            let _ = write!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{yy:.1}\" y2=\"{yy:.1}\" stroke=\"#ddd\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                width - 10.0,
                LEFT - 6.0,
                y(v) + 4.0,
                fencepost_run::short(v),
                yy = y(v)
            );
            v += step;
        }
        let _ = write!(
            out,
            "<text x=\"{LEFT}\" y=\"{:.0}\" fill=\"#555\">{}</text>",
            TOP - 4.0,
            escape(self.unit)
        );
        if let Some(r) = self.reference {
            let _ = write!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{yy:.1}\" y2=\"{yy:.1}\" stroke=\"#333\" stroke-dasharray=\"4 3\"/>",
                width - 10.0,
                yy = y(r)
            );
        }
    }

    fn bars(&self, out: &mut String, g: usize, x: f64, bar: f64, y: &dyn Fn(f64) -> f64) {
        let mut below = 0.0;
        for (i, s) in self.series.iter().enumerate() {
            let Some(v) = s.values.get(g).copied().flatten() else {
                continue;
            };
            let (bx, base) = if self.stacked {
                (x, below)
            } else {
                (x + bar * i as f64, 0.0)
            };
            let (top, bottom) = (y(base + v), y(base));
            let _ = write!(
                out,
                "<rect x=\"{bx:.1}\" y=\"{top:.2}\" width=\"{:.1}\" height=\"{:.2}\" fill=\"{}\"><title>{}: {} = {}</title></rect>",
                bar - 1.0,
                (bottom - top).max(0.0),
                colour(&s.name, i),
                escape(&self.groups[g]),
                escape(&s.name),
                fencepost_run::short(v)
            );
            if !self.stacked && bar >= 18.0 {
                let _ = write!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"9\">{}</text>",
                    bx + bar / 2.0,
                    top - 3.0,
                    fencepost_run::short(v)
                );
            }
            below += v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn axis_steps_are_round() {
        assert_eq!([nice(0.3), nice(1.0), nice(1.2), nice(33.0)], [0.5, 1.0, 2.0, 50.0]);
    }
    #[test]
    fn bars_are_as_high_as_their_values() {
        let chart = Chart {
            title: "a < b",
            unit: "x",
            groups: &["g".into()],
            series: &[
                Series {
                    name: "s".into(),
                    values: vec![Some(5.0)],
                },
                Series {
                    name: "t".into(),
                    values: vec![None],
                },
            ],
            stacked: false,
            reference: None,
        };
        let svg = chart.render();
        assert!(
            svg.contains(&format!("height=\"{PLOT:.2}\"")),
            "5 of 5 fills the plot: {svg}"
        );
        assert!(svg.contains("a &lt; b"));
        assert_eq!(svg.matches("<title>g: ").count(), 1, "no bar where there is no run");
    }
    #[test]
    fn stacks_add_up() {
        let one = |v| Series {
            name: "s".into(),
            values: vec![Some(v)],
        };
        let chart = Chart {
            title: "",
            unit: "",
            groups: &["g".into()],
            series: &[one(4.0), one(6.0)],
            stacked: true,
            reference: None,
        };
        let svg = chart.render();
        assert!(
            svg.contains(&format!("height=\"{:.2}\"", PLOT * 0.4))
                && svg.contains(&format!("height=\"{:.2}\"", PLOT * 0.6))
        );
    }
}
