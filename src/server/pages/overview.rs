//! The page that a visit begins with: who works, what waits, and how things went of late.

use axum::response::Response;
use minijinja::context;
use minijinja::value::Value;

use super::guest::Guest;
use crate::server::chart::{self, Bar};
use crate::server::problem::Problem;
use crate::server::trends::{Day, Trends};
use crate::server::words::Lang;
use crate::store::status;
use crate::worker::user_hash;

pub(super) const MEMORIES: &str = "Memories, by day";
pub(super) const USERS: &str = "Users, by day";
pub(super) const MERGES: &str = "Merges a day";
pub(super) const SAVED: &str = "Memories fewer, a day";
pub(super) const TOKENS: &str = "LLM tokens a day";

pub(super) async fn overview(guest: Guest) -> Response {
    guest.answer(overview_page(&guest).await)
}

async fn overview_page(guest: &Guest) -> Result<Response, Problem> {
    let pipeline = guest.site.desk.pipeline()?;
    let status = status(&mut pipeline.conn.clone(), 12).await?;
    let directory = guest.site.desk.directory().await?;
    let trends = Trends::read(&pipeline).await?;
    let memories: u64 = directory.people.iter().map(|p| p.probe.count).sum();
    let (merged, undone) = (trends.sum(|d| d.merged), trends.sum(|d| d.undone));
    let runs: Vec<Value> = status
        .runs
        .iter()
        .map(|run| context! { user_id => user_hash(&run.user), ..Value::from_serialize(run) })
        .collect();
    let waiting = status.waiting();
    guest.page(
        "overview.html",
        context! {
            store => format!("{} · {}", pipeline.layout.name(), pipeline.index.name),
            users => directory.people.len() as u64,
            memories => memories,
            merged => merged,
            undone => undone,
            saved => trends.sum(|d| d.saved),
            kept_share => (merged > 0).then(|| 100.0 * (1.0 - undone as f64 / merged as f64).max(0.0)),
            llm_calls => trends.sum(|d| d.llm_calls),
            llm_tokens => trends.sum(|d| d.llm_tokens),
            halt => status.halt,
            workers => status.workers,
            waiting => waiting,
            pending => status.groups.iter().map(|g| g.backlog.pending).sum::<u64>(),
            own_bytes => status.memory.map(|memory| memory.bytes()),
            not_ready => guest.site.shared.not_ready(),
            runs => runs,
            charts => charts(guest.lang, &trends),
            days => trends.days,
        },
    )
}

/// A chart over the days: its title, what its parts are called, and the parts of each day.
pub(super) fn chart(
    lang: Lang,
    title: &'static str,
    names: &[&str],
    parts: impl Iterator<Item = (String, Vec<u64>)>,
) -> Value {
    let names: Vec<&str> = names.iter().map(|name| lang.say(name)).collect();
    let days: Vec<Bar> = parts.map(|(label, parts)| Bar { label, parts }).collect();
    let any = days.iter().any(|bar| bar.parts.iter().any(|f| *f > 0));
    let title = lang.say(title);
    context! {
        title => title,
        names => names,
        svg => any.then(|| chart::bars(title, &names, &days)),
    }
}

/// The charts of the overview.
fn charts(lang: Lang, trends: &Trends) -> Vec<Value> {
    let chart = |title: &'static str, names: &[&str], parts: &dyn Fn(&Day) -> Vec<u64>| {
        let days = trends
            .days
            .iter()
            .map(|day| (day.day.to_string(), parts(day)));
        chart(lang, title, names, days)
    };
    let known = |figure: Option<u64>| figure.into_iter().collect();
    vec![
        chart(MEMORIES, &["memories"], &|d| known(d.memories)),
        chart(USERS, &["users"], &|d| known(d.users)),
        chart(MERGES, &["made", "undone"], &|d| vec![d.merged, d.undone]),
        chart(SAVED, &["memories"], &|d| vec![d.saved]),
        chart(TOKENS, &["tokens"], &|d| vec![d.llm_tokens]),
    ]
}
