//! The dashboard: pages for people, made on the server. They say what the API says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Form, FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, extract::State};
use minijinja::context;
use minijinja::value::Value;
use serde::Deserialize;

use super::Site;
use super::access::{
    LANG_COOKIE, SESSION, SESSION_COOKIE, Visitor, check_login_form, cookie, secret, set_cookie,
    set_login_cookie,
};
use super::chart::{self, Bar};
use super::desk::Person;
use super::merges::{self, MergeDetail, MergeRow};
use super::people::{Decision, Skipped, UserRow};
use super::problem::Problem;
use super::render::{ICON, SCRIPT, STYLE};
use super::spans::{Span, plain, spans};
use super::trends::{Day, Trends};
use super::words::Lang;
use crate::memory::PlanSource;
use crate::merge::Conflict;
use crate::store::status;
use crate::worker::user_hash;

/// Sentences that the code says; those of the templates stand there.
#[cfg(test)]
pub(super) const SAYS: &[&str] = &[
    "{n} s ago",
    "{n} min ago",
    "{n} h ago",
    "{n} d ago",
    "new",
    "changed",
    "count",
    "full",
    "retry",
    "request",
    "failures",
    MERGES,
    "made",
    "undone",
    SAVED,
    "memories",
    TOKENS,
    "tokens",
    "This is not the token.",
    "Not found",
    "Not allowed",
    "Not logged in",
    "Not possible now",
    "The request cannot be understood",
    "This is not as it was, or does not allow it",
    "An error of memfold or of the store",
];

const MERGES: &str = "Merges a day";
const SAVED: &str = "Memories fewer, a day";
const TOKENS: &str = "LLM tokens a day";

/// Rows of a page.
const PAGE: usize = 25;
/// Users that a page over several looks at, and how long it may take for that.
const LOOKED_AT: usize = 10;
const LOOK_BUDGET: Duration = Duration::from_secs(15);
/// How long the language is remembered.
const LANG_KEPT: Duration = Duration::from_secs(365 * 86_400);

type Site_ = Arc<Site>;

/// The routes of the dashboard.
pub(super) fn router() -> Router<Site_> {
    Router::new()
        .route("/", get(overview))
        .route("/users", get(users))
        .route("/users/find", post(find))
        .route("/users/{user}", get(user))
        .route("/users/{user}/request", post(request))
        .route("/users/{user}/plan", get(plan))
        .route("/users/{user}/conflicts", get(user_conflicts))
        .route("/users/{user}/conflicts/{conflict}", post(decide))
        .route("/users/{user}/skipped", get(user_skipped))
        .route("/merges", get(merges_page))
        .route("/merges/{merge}", get(merge))
        .route("/merges/{merge}/undo", get(undo_form).post(undo))
        .route("/conflicts", get(conflicts))
        .route("/skipped", get(skipped))
        .route("/login", get(login_form).post(login))
        .route("/logout", post(logout))
        .route(
            "/assets/style.css",
            get(|| asset("text/css; charset=utf-8", STYLE)),
        )
        .route(
            "/assets/live.js",
            get(|| asset("text/javascript; charset=utf-8", SCRIPT)),
        )
        .route("/assets/icon.svg", get(|| asset("image/svg+xml", ICON)))
        .fallback(nothing)
}

/// A file that is the same for all, and may be kept for a while.
async fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, text)
}

/// Who asks, and how to answer.
struct Guest {
    site: Site_,
    visitor: Visitor,
    lang: Lang,
    headers: HeaderMap,
    /// The path that was asked for.
    path: String,
    query: HashMap<String, String>,
}

/// Whoever asks, logged in or not.
struct Anyone(Guest);

impl FromRequestParts<Site_> for Anyone {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site_) -> Result<Self, Response> {
        let query: HashMap<String, String> = Query::try_from_uri(&parts.uri)
            .map(|Query(query)| query)
            .unwrap_or_default();
        let chosen = query.get("lang").map(String::as_str);
        let remembered = cookie(&parts.headers, LANG_COOKIE);
        let lang = chosen
            .and_then(Lang::named)
            .or_else(|| remembered.and_then(Lang::named))
            .unwrap_or_else(|| Lang::accepted(&parts.headers));
        Ok(Self(Guest {
            site: Arc::clone(site),
            visitor: Visitor::default(),
            lang,
            headers: parts.headers.clone(),
            path: parts.uri.path().to_owned(),
            query,
        }))
    }
}

impl FromRequestParts<Site_> for Guest {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site_) -> Result<Self, Response> {
        let Anyone(mut guest) = Anyone::from_request_parts(parts, site).await?;
        match site.access.visitor(&parts.headers) {
            Ok(Some(visitor)) => {
                guest.visitor = visitor;
                Ok(guest)
            }
            Ok(None) if parts.method == Method::GET => Err(Redirect::to("/login").into_response()),
            Ok(None) => Err(guest.problem(&Problem::forbidden(
                "stale-form",
                "your session is over; log in again",
            ))),
            Err(problem) => Err(guest.problem(&problem)),
        }
    }
}

impl Guest {
    /// What all pages need.
    fn frame(&self) -> Value {
        let read_only = !self.site.access.has_token();
        context! {
            csrf => self.visitor.csrf,
            read_only => read_only,
            path => self.path,
            done => self.query.get("done"),
            version => env!("CARGO_PKG_VERSION"),
        }
    }

    fn page(&self, name: &str, page: Value) -> Result<Response, Problem> {
        let html = self
            .site
            .renderer
            .page(name, self.lang, self.frame(), page)?;
        Ok(self.with_lang(html.into_response()))
    }

    /// Remembers the language that was chosen by `?lang=`.
    fn with_lang(&self, mut response: Response) -> Response {
        if self.query.contains_key("lang") {
            let text = set_cookie(&self.headers, LANG_COOKIE, self.lang.name(), LANG_KEPT);
            if let Ok(value) = HeaderValue::from_str(&text) {
                response.headers_mut().append(header::SET_COOKIE, value);
            }
        }
        response
    }

    fn problem(&self, problem: &Problem) -> Response {
        let shown = context! { problem => problem, title => self.lang.say(problem.title) };
        let page = self
            .site
            .renderer
            .page("problem.html", self.lang, self.frame(), shown);
        let page = page.unwrap_or_else(|_| Html(problem.title.to_owned()));
        (problem.code(), page).into_response()
    }

    fn answer(&self, answer: Result<Response, Problem>) -> Response {
        answer.unwrap_or_else(|problem| self.problem(&problem))
    }

    /// Whether a form may change something.
    fn check(&self, form: &Fields) -> Result<(), Problem> {
        let given = form.get("csrf").map_or("", String::as_str);
        self.visitor.check_form(&self.headers, given)
    }

    /// The number of the page that is asked for, from 0.
    fn page_number(&self) -> usize {
        let number = self.query.get("page").and_then(|page| page.parse().ok());
        number.unwrap_or(1usize).clamp(1, 1_000_000) - 1
    }
}

type Fields = HashMap<String, String>;

/// A redirect after a form, with the word for what was done.
fn done(path: &str, what: &str) -> Result<Response, Problem> {
    Ok(Redirect::to(&format!("{path}?done={what}")).into_response())
}

/// Whatever is asked for that is not there.
async fn nothing(Anyone(guest): Anyone) -> Response {
    guest.problem(&Problem::not_found(
        "there is no such page; the overview is at /",
    ))
}

async fn overview(guest: Guest) -> Response {
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

/// The charts of the overview.
fn charts(lang: Lang, trends: &Trends) -> Vec<Value> {
    let chart = |title: &'static str, names: &[&str], parts: &dyn Fn(&Day) -> Vec<u64>| {
        let names: Vec<&str> = names.iter().map(|name| lang.say(name)).collect();
        let bar = |day: &Day| Bar {
            label: day.day.to_string(),
            parts: parts(day),
        };
        let days: Vec<Bar> = trends.days.iter().map(bar).collect();
        let any = days.iter().any(|bar| bar.parts.iter().any(|f| *f > 0));
        let title = lang.say(title);
        context! {
            title => title,
            names => names,
            svg => any.then(|| chart::bars(title, &names, &days)),
        }
    };
    vec![
        chart(MERGES, &["made", "undone"], &|d| vec![d.merged, d.undone]),
        chart(SAVED, &["memories"], &|d| vec![d.saved]),
        chart(TOKENS, &["tokens"], &|d| vec![d.llm_tokens]),
    ]
}

async fn users(guest: Guest) -> Response {
    guest.answer(users_page(&guest).await)
}

async fn users_page(guest: &Guest) -> Result<Response, Problem> {
    let (people, pages) = people(guest, PAGE).await?;
    let pipeline = guest.site.desk.pipeline()?;
    let trends = Trends::read(&pipeline).await?;
    let rows = UserRow::of(&pipeline, &people, &trends).await?;
    guest.page("users.html", context! { rows => rows, pages => pages })
}

/// The users of a page, and where it stands among the pages.
async fn people(guest: &Guest, size: usize) -> Result<(Vec<Person>, Value), Problem> {
    let directory = guest.site.desk.directory().await?;
    let (total, page) = (directory.people.len(), guest.page_number());
    let from = page.saturating_mul(size).min(total);
    let to = (from + size).min(total);
    let pages = context! {
        page => page + 1,
        total => total as u64,
        earlier => page > 0,
        more => to < total,
    };
    Ok((directory.people[from..to].to_vec(), pages))
}

async fn find(guest: Guest, Form(form): Form<Fields>) -> Response {
    let name = form.get("user").cloned().unwrap_or_default();
    let found = async {
        if guest.visitor.csrf.is_some() {
            guest.check(&form)?;
        }
        let person = guest.site.desk.user_named(&name).await?;
        Ok(Redirect::to(&format!("/users/{}", person.id)).into_response())
    };
    let found = found.await;
    match found {
        Err(Problem { status: 404, .. }) => Redirect::to("/users?done=nobody").into_response(),
        found => guest.answer(found),
    }
}

async fn user(guest: Guest, Path(id): Path<String>) -> Response {
    guest.answer(user_page(&guest, &id).await)
}

async fn user_page(guest: &Guest, id: &str) -> Result<Response, Problem> {
    let person = guest.site.desk.user(id).await?;
    let pipeline = guest.site.desk.pipeline()?;
    let trends = Trends::read(&pipeline).await?;
    let rows = UserRow::of(&pipeline, std::slice::from_ref(&person), &trends).await?;
    let (merges, more) = merges::list(&pipeline, Some(&person.user), 0, 10).await?;
    let merges: Vec<Value> = merges.iter().map(shown_row).collect();
    guest.page(
        "user.html",
        context! { person => rows.first(), merges => merges, more => more },
    )
}

async fn request(guest: Guest, Path(id): Path<String>, Form(form): Form<Fields>) -> Response {
    let asked = async {
        guest.check(&form)?;
        let person = guest.site.desk.user(&id).await?;
        guest.site.desk.request(&person.user).await?;
        done(&format!("/users/{}", person.id), "requested")
    };
    guest.answer(asked.await)
}

async fn plan(guest: Guest, Path(id): Path<String>) -> Response {
    let shown = async {
        let person = guest.site.desk.user(&id).await?;
        let plan = guest.site.desk.plan(&person.user).await?;
        let merge = |merge: &crate::memory::PlannedMerge| {
            let texts: Vec<&str> = merge.sources.iter().map(|s| s.text.as_str()).collect();
            let (sides, after) = spans(&texts, &merge.text);
            let source = |(source, spans): (&PlanSource, Vec<Span>)| {
                context! { spans => spans, ..Value::from_serialize(source) }
            };
            context! {
                sources => merge.sources.iter().zip(sides).map(source).collect::<Vec<_>>(),
                after => after,
                author => merges::author(&merge.author),
                findings => merge.findings,
            }
        };
        let merges: Vec<Value> = plan.merges.iter().map(merge).collect();
        guest.page(
            "plan.html",
            context! {
                person => named(&person),
                memories => plan.memories as u64,
                threshold => plan.threshold.value,
                distance => plan.distance,
                left => (plan.groups_left.len() + plan.left_alone.len()) as u64,
                merges => merges,
            },
        )
    };
    guest.answer(shown.await)
}

fn named(person: &Person) -> Value {
    context! { id => person.id, user => person.user }
}

/// A merge of a list with what differs.
fn shown_row(row: &MergeRow) -> Value {
    let (before, after) = sides(&row.before, row.after.as_deref());
    context! { before => before, after => after, ..Value::from_serialize(row) }
}

/// The texts with what differs; `None` where they are gone.
fn sides(
    before: &[Option<String>],
    after: Option<&str>,
) -> (Vec<Option<Vec<Span>>>, Option<Vec<Span>>) {
    let Some(after) = after else {
        let alone = |text: &Option<String>| text.as_deref().map(plain);
        return (before.iter().map(alone).collect(), None);
    };
    let known: Vec<&str> = before.iter().flatten().map(String::as_str).collect();
    let (sides, after) = spans(&known, after);
    let mut sides = sides.into_iter();
    let before = before
        .iter()
        .map(|text| text.as_ref().and_then(|_| sides.next()))
        .collect();
    (before, Some(after))
}

async fn merges_page(guest: Guest) -> Response {
    let shown = async {
        let pipeline = guest.site.desk.pipeline()?;
        let person = match guest.query.get("user") {
            Some(id) => Some(guest.site.desk.user(id).await?),
            None => None,
        };
        let name = person.as_ref().map(|person| person.user.as_str());
        let page = guest.page_number();
        let (rows, more) = merges::list(&pipeline, name, page.saturating_mul(PAGE), PAGE).await?;
        guest.page(
            "merges.html",
            context! {
                person => person.as_ref().map(named),
                rows => rows.iter().map(shown_row).collect::<Vec<_>>(),
                pages => context! { page => page + 1, earlier => page > 0, more => more },
            },
        )
    };
    guest.answer(shown.await)
}

async fn merge(guest: Guest, Path(id): Path<String>) -> Response {
    guest.answer(merge_page(&guest, &id, "merge.html").await)
}

async fn undo_form(guest: Guest, Path(id): Path<String>) -> Response {
    guest.answer(merge_page(&guest, &id, "undo.html").await)
}

async fn merge_page(guest: &Guest, id: &str, template: &str) -> Result<Response, Problem> {
    let detail: MergeDetail = merges::detail(&guest.site.desk.pipeline()?, id).await?;
    let (before, after) = sides(&detail.before, detail.after.as_deref());
    guest.page(
        template,
        context! {
            before => before,
            after => after,
            author => merges::author(&detail.merge.author),
            ..Value::from_serialize(&detail)
        },
    )
}

async fn undo(guest: Guest, Path(id): Path<String>, Form(form): Form<Fields>) -> Response {
    let ticked = |name: &str| form.contains_key(name);
    let undone = async {
        guest.check(&form)?;
        let reason = form.get("reason").map(String::as_str);
        guest
            .site
            .desk
            .undo(&id, ticked("force"), ticked("cascade"), reason)
            .await?;
        done(&format!("/merges/{id}"), "undone")
    };
    guest.answer(undone.await)
}

/// A conflict with what differs from the newest of its memories.
fn shown_conflict(conflict: &Conflict) -> Value {
    let members = conflict.by_date();
    let newest = members.last().map_or("", |newest| newest.text.as_str());
    let older: Vec<&str> = members
        .iter()
        .rev()
        .skip(1)
        .rev()
        .map(|m| m.text.as_str())
        .collect();
    let (mut sides, last) = spans(&older, newest);
    sides.push(last);
    let member = |(source, spans): (&&PlanSource, Vec<Span>)| {
        context! { spans => spans, ..Value::from_serialize(source) }
    };
    context! {
        id => conflict.id,
        reason => conflict.group.reason,
        has_order => conflict.has_order(),
        kept => conflict.kept,
        newest => newest,
        findings => conflict.group.findings,
        members => members.iter().zip(sides).map(member).collect::<Vec<_>>(),
    }
}

async fn user_conflicts(guest: Guest, Path(id): Path<String>) -> Response {
    let shown = async {
        let person = guest.site.desk.user(&id).await?;
        let found = guest.site.desk.conflicts(&person.user).await?;
        guest.page(
            "user_conflicts.html",
            context! {
                person => named(&person),
                conflicts => found.iter().map(shown_conflict).collect::<Vec<_>>(),
            },
        )
    };
    guest.answer(shown.await)
}

async fn decide(
    guest: Guest,
    Path((id, conflict)): Path<(String, String)>,
    Form(form): Form<Fields>,
) -> Response {
    let decided = async {
        guest.check(&form)?;
        let field = |name: &str| {
            form.get(name)
                .cloned()
                .filter(|text| !text.trim().is_empty())
        };
        let decision = match form.get("decision").map(String::as_str) {
            Some("keep") => Decision::Keep {
                reason: field("reason"),
            },
            Some("latest") => Decision::Latest,
            Some("text") => Decision::Text {
                text: field("text").ok_or_else(|| {
                    Problem::bad_request("write the text that all of them become")
                })?,
            },
            _ => return Err(Problem::bad_request("`decision` is keep, latest or text")),
        };
        let person = guest.site.desk.user(&id).await?;
        let conflict = guest.site.desk.conflict(&person.user, &conflict).await?;
        guest
            .site
            .desk
            .decide(&person.user, &conflict, &decision)
            .await?;
        done(&format!("/users/{}/conflicts", person.id), "decided")
    };
    guest.answer(decided.await)
}

async fn user_skipped(guest: Guest, Path(id): Path<String>) -> Response {
    let shown = async {
        let person = guest.site.desk.user(&id).await?;
        let skipped = Skipped::of(guest.site.desk.plan(&person.user).await?);
        guest.page(
            "user_skipped.html",
            context! { person => named(&person), ..Value::from_serialize(&skipped) },
        )
    };
    guest.answer(shown.await)
}

async fn conflicts(guest: Guest) -> Response {
    guest.answer(conflicts_page(&guest).await)
}

async fn conflicts_page(guest: &Guest) -> Result<Response, Problem> {
    let (people, pages) = people(guest, LOOKED_AT).await?;
    let began = Instant::now();
    let mut rows = Vec::new();
    for person in &people {
        let (mut open, mut kept, mut problem) = (None, None, None);
        // Those for whom there is no time are listed all the same.
        if began.elapsed() < LOOK_BUDGET {
            match guest.site.desk.conflicts(&person.user).await {
                Ok(found) => {
                    let count = found.iter().filter(|conflict| conflict.kept).count();
                    (open, kept) = (Some((found.len() - count) as u64), Some(count as u64));
                }
                Err(error) => problem = Some(error.detail),
            }
        }
        rows.push(context! {
            person => named(person),
            open => open,
            kept => kept,
            problem => problem,
        });
    }
    guest.page("conflicts.html", context! { rows => rows, pages => pages })
}

async fn skipped(guest: Guest) -> Response {
    guest.answer(skipped_page(&guest).await)
}

async fn skipped_page(guest: &Guest) -> Result<Response, Problem> {
    let (people, pages) = people(guest, LOOKED_AT).await?;
    let began = Instant::now();
    let mut rows = Vec::new();
    for person in &people {
        let (mut reasons, mut problem) = (None, None);
        if began.elapsed() < LOOK_BUDGET {
            match guest.site.desk.plan(&person.user).await {
                Ok(plan) => reasons = Some(Skipped::of(plan).reasons),
                Err(error) => problem = Some(error.detail),
            }
        }
        rows.push(context! {
            person => named(person),
            reasons => reasons,
            problem => problem,
        });
    }
    guest.page("skipped.html", context! { rows => rows, pages => pages })
}

async fn login_form(Anyone(guest): Anyone) -> Response {
    guest.answer(login_page(&guest, None))
}

/// The login page with a fresh form.
fn login_page(guest: &Guest, wrong: Option<&str>) -> Result<Response, Problem> {
    if !guest.site.access.has_token() {
        return Ok(Redirect::to("/").into_response());
    }
    let form = secret();
    let wrong = wrong.map(|text| guest.lang.say(text));
    let mut response = guest.page("login.html", context! { form => form, wrong => wrong })?;
    let text = set_login_cookie(&guest.headers, &form);
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    if wrong.is_some() {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    Ok(response)
}

#[derive(Deserialize)]
struct Login {
    csrf: String,
    token: String,
}

async fn login(Anyone(guest): Anyone, Form(form): Form<Login>) -> Response {
    let logged_in = async {
        check_login_form(&guest.headers, &form.csrf)?;
        if !guest.site.access.is_token(form.token.trim()).await {
            return login_page(&guest, Some("This is not the token."));
        }
        let session = guest.site.access.begin();
        let mut response = Redirect::to("/").into_response();
        let text = set_cookie(&guest.headers, SESSION_COOKIE, &session, SESSION);
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
        Ok(response)
    };
    guest.answer(logged_in.await)
}

async fn logout(State(site): State<Site_>, guest: Guest, Form(form): Form<Fields>) -> Response {
    let logged_out = async {
        guest.check(&form)?;
        site.access.end(&guest.headers);
        Ok(Redirect::to("/login").into_response())
    };
    guest.answer(logged_out.await)
}
