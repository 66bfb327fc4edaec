//! The HTTP API: JSON for programs. `docs/openapi.json` describes it.
//!
//! No path and no query has a user's name or a memory's text: those end up in logs. Users are named
//! by ids, which `POST /api/v1/users/find` gives.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, middleware};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::people::{Decision, Skipped, UserRow, plan_document};
use super::problem::Problem;
use super::trends::Trends;
use super::{Site, merges};
use crate::merge::Conflict;
use crate::store::status;

/// The description that is served.
const OPENAPI: &str = include_str!("../../docs/openapi.json");
/// Rows of a page, if nothing else is asked for.
const PAGE: usize = 50;
const PAGE_MOST: usize = 200;
/// Runs that the status tells.
const RUNS: usize = 50;

type Answer = Result<Json<Value>, Problem>;
type Here = State<Arc<Site>>;

/// A route of the API.
struct Route {
    #[cfg(test)]
    method: &'static str,
    path: &'static str,
    /// Whether it changes something.
    writes: bool,
    handler: MethodRouter<Arc<Site>>,
}

/// All routes of the API.
fn routes() -> Vec<Route> {
    let read = |path, handler| Route {
        #[cfg(test)]
        method: "get",
        path,
        writes: false,
        handler,
    };
    let write = |path, handler| Route {
        #[cfg(test)]
        method: "post",
        path,
        writes: true,
        handler,
    };
    vec![
        read("/api/v1/openapi.json", get(openapi)),
        read("/api/v1/status", get(server_status)),
        read("/api/v1/metrics", get(metrics)),
        read("/api/v1/users", get(users)),
        Route {
            writes: false,
            ..write("/api/v1/users/find", post(find))
        },
        read("/api/v1/users/{user}", get(user)),
        write("/api/v1/users/{user}/requests", post(request)),
        read("/api/v1/users/{user}/plan", get(plan)),
        read("/api/v1/users/{user}/merges", get(merges_of_user)),
        read("/api/v1/users/{user}/skipped", get(skipped)),
        read("/api/v1/users/{user}/conflicts", get(conflicts)),
        write(
            "/api/v1/users/{user}/conflicts/{conflict}/decision",
            post(decide),
        ),
        read("/api/v1/merges", get(all_merges)),
        read("/api/v1/merges/{merge}", get(merge)),
        write("/api/v1/merges/{merge}/undo", post(undo)),
    ]
}

/// The routes with their guards.
pub(super) fn router(site: &Arc<Site>) -> axum::Router<Arc<Site>> {
    let mut router = axum::Router::new();
    for route in routes() {
        let (site, writes) = (Arc::clone(site), route.writes);
        let guard = middleware::from_fn(
            move |request: axum::extract::Request, next: middleware::Next| {
                let site = Arc::clone(&site);
                async move {
                    match site.access.check_program(request.headers(), writes).await {
                        Ok(()) => next.run(request).await,
                        Err(problem) => problem.into_response(),
                    }
                }
            },
        );
        router = router.route(route.path, route.handler.layer(guard));
    }
    router
}

/// Which rows of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    /// Rows to pass over.
    offset: Option<usize>,
    /// Rows to give.
    limit: Option<usize>,
}

impl Page {
    fn of(query: Result<Query<Self>, QueryRejection>) -> Result<(usize, usize), Problem> {
        let Query(page) = query.map_err(|error| Problem::bad_request(error.body_text()))?;
        let limit = page.limit.unwrap_or(PAGE);
        if !(1..=PAGE_MOST).contains(&limit) {
            let detail = format!("`limit` is to be from 1 to {PAGE_MOST}");
            return Err(Problem::bad_request(detail));
        }
        Ok((page.offset.unwrap_or(0), limit))
    }
}

fn body<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, Problem> {
    match body {
        Ok(Json(body)) => Ok(body),
        Err(error) => Err(Problem::new(
            error.status(),
            "bad-request",
            "The request cannot be understood",
            format!("{}; see /api/v1/openapi.json", error.body_text()),
        )),
    }
}

fn json_of(value: &impl Serialize) -> Answer {
    match serde_json::to_value(value) {
        Ok(value) => Ok(Json(value)),
        Err(error) => Err(crate::merge::MergeError::Internal(error.to_string()).into()),
    }
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn server_status(State(site): Here) -> Answer {
    let mut conn = site.desk.pipeline()?.conn;
    Ok(Json(status(&mut conn, RUNS).await?.document()))
}

async fn metrics(State(site): Here) -> Answer {
    let pipeline = site.desk.pipeline()?;
    let trends = Trends::read(&pipeline).await?;
    let directory = site.desk.directory().await?;
    let memories: u64 = directory.people.iter().map(|p| p.probe.count).sum();
    let merged = trends.sum(|day| day.merged);
    let undone = trends.sum(|day| day.undone);
    Ok(Json(json!({
        "users": directory.people.len(),
        "memories": memories,
        "merged": merged,
        "undone": undone,
        "saved": trends.sum(|day| day.saved),
        "llm_calls": trends.sum(|day| day.llm_calls),
        "llm_tokens": trends.sum(|day| day.llm_tokens),
        "days": trends.days,
    })))
}

async fn users(State(site): Here, query: Result<Query<Page>, QueryRejection>) -> Answer {
    let (offset, limit) = Page::of(query)?;
    let pipeline = site.desk.pipeline()?;
    let directory = site.desk.directory().await?;
    let from = offset.min(directory.people.len());
    let to = from.saturating_add(limit).min(directory.people.len());
    let trends = Trends::read(&pipeline).await?;
    let rows = UserRow::of(&pipeline, &directory.people[from..to], &trends).await?;
    Ok(Json(json!({
        "total": directory.people.len(),
        "offset": from,
        "users": rows,
    })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    user: String,
}

async fn find(State(site): Here, sent: Result<Json<Find>, JsonRejection>) -> Answer {
    let person = site.desk.user_named(&body(sent)?.user).await?;
    one_user(&site, &person.id).await
}

async fn user(State(site): Here, Path(id): Path<String>) -> Answer {
    one_user(&site, &id).await
}

async fn one_user(site: &Site, id: &str) -> Answer {
    let person = site.desk.user(id).await?;
    let pipeline = site.desk.pipeline()?;
    let trends = Trends::read(&pipeline).await?;
    let rows = UserRow::of(&pipeline, &[person], &trends).await?;
    json_of(&rows.first())
}

async fn request(State(site): Here, Path(id): Path<String>) -> Result<Response, Problem> {
    let person = site.desk.user(&id).await?;
    let asked = site.desk.request(&person.user).await?;
    let answer = Json(json!({ "request_id": asked, "user_id": person.id }));
    Ok((StatusCode::ACCEPTED, answer).into_response())
}

async fn plan(State(site): Here, Path(id): Path<String>) -> Answer {
    let person = site.desk.user(&id).await?;
    let plan = site.desk.plan(&person.user).await?;
    Ok(Json(plan_document(&plan)))
}

async fn merges_of_user(
    State(site): Here,
    Path(id): Path<String>,
    query: Result<Query<Page>, QueryRejection>,
) -> Answer {
    let person = site.desk.user(&id).await?;
    merges_page(&site, Some(&person.user), query).await
}

async fn all_merges(State(site): Here, query: Result<Query<Page>, QueryRejection>) -> Answer {
    merges_page(&site, None, query).await
}

async fn merges_page(
    site: &Site,
    user: Option<&str>,
    query: Result<Query<Page>, QueryRejection>,
) -> Answer {
    let (offset, limit) = Page::of(query)?;
    let (rows, more) = merges::list(&site.desk.pipeline()?, user, offset, limit).await?;
    Ok(Json(
        json!({ "offset": offset, "more": more, "merges": rows }),
    ))
}

async fn merge(State(site): Here, Path(merge_id): Path<String>) -> Answer {
    json_of(&merges::detail(&site.desk.pipeline()?, &merge_id).await?)
}

async fn skipped(State(site): Here, Path(id): Path<String>) -> Answer {
    let person = site.desk.user(&id).await?;
    let skipped = Skipped::of(site.desk.plan(&person.user).await?);
    let reason = |(reason, count): &(_, usize)| json!({ "reason": reason, "count": count });
    Ok(Json(json!({
        "reasons": skipped.reasons.iter().map(reason).collect::<Vec<_>>(),
        "groups": skipped.groups,
        "memories": skipped.memories,
    })))
}

async fn conflicts(State(site): Here, Path(id): Path<String>) -> Answer {
    let person = site.desk.user(&id).await?;
    let found = site.desk.conflicts(&person.user).await?;
    let conflict = |conflict: &Conflict| {
        json!({
            "id": conflict.id,
            "reason": conflict.group.reason,
            "detail": conflict.group.detail,
            "memory_type": conflict.group.partition.memory_type,
            "kept": conflict.kept,
            "members": conflict.by_date(),
            "findings": conflict.group.findings,
        })
    };
    Ok(Json(json!({
        "user_id": person.id,
        "conflicts": found.iter().map(conflict).collect::<Vec<_>>(),
    })))
}

async fn decide(
    State(site): Here,
    Path((id, conflict)): Path<(String, String)>,
    sent: Result<Json<Decision>, JsonRejection>,
) -> Answer {
    let decision = body(sent)?;
    let person = site.desk.user(&id).await?;
    let conflict = site.desk.conflict(&person.user, &conflict).await?;
    json_of(&site.desk.decide(&person.user, &conflict, &decision).await?)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Undo {
    /// Undo although the result was edited; the edited memory is kept on a new key.
    force: bool,
    /// Undo later merges of the result first.
    cascade: bool,
    /// Why, for whoever asks later.
    reason: Option<String>,
}

async fn undo(
    State(site): Here,
    Path(merge_id): Path<String>,
    sent: Result<Option<Json<Undo>>, JsonRejection>,
) -> Answer {
    let sent = sent.map(|sent| sent.unwrap_or_default());
    let Undo {
        force,
        cascade,
        reason,
    } = body(sent)?;
    let undone = site
        .desk
        .undo(&merge_id, force, cascade, reason.as_deref())
        .await?;
    Ok(Json(json!({ "undone": undone })))
}

/// Whatever is asked for under `/api` that is not there.
pub(super) async fn nothing() -> Problem {
    Problem::not_found("there is no such path; /api/v1/openapi.json lists them")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_description_names_exactly_the_routes() {
        let described: Value = serde_json::from_str(OPENAPI).unwrap();
        let mut there = BTreeSet::new();
        for (path, operations) in described["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let writes = operation["responses"]["403"].is_object();
                there.insert((method.clone(), path.clone(), writes));
            }
        }
        let served: BTreeSet<_> = routes()
            .into_iter()
            .map(|route| (route.method.to_owned(), route.path.to_owned(), route.writes))
            .collect();
        assert_eq!(there, served);
    }
}
