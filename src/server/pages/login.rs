//! The way in and out.

use axum::extract::{Form, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::context;
use serde::Deserialize;

use super::Site_;
use super::guest::{Anyone, Fields, Guest};
use crate::server::access::{
    SESSION, SESSION_COOKIE, check_login_form, secret, set_cookie, set_login_cookie,
};
use crate::server::problem::Problem;

pub(super) async fn login_form(Anyone(guest): Anyone) -> Response {
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
pub(super) struct Login {
    csrf: String,
    token: String,
}

pub(super) async fn login(Anyone(guest): Anyone, Form(form): Form<Login>) -> Response {
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

pub(super) async fn logout(
    State(site): State<Site_>,
    guest: Guest,
    Form(form): Form<Fields>,
) -> Response {
    let logged_out = async {
        guest.check(&form)?;
        site.access.end(&guest.headers);
        Ok(Redirect::to("/login").into_response())
    };
    guest.answer(logged_out.await)
}
