//! Whether the LLM's server answers. No text is sent.

use std::time::Duration;

use reqwest::{StatusCode, Url};
use secrecy::ExposeSecret;

use super::{Check, open, output};
use crate::config::Settings;
use crate::http::endpoint;

/// Longest wait for the list of models.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn check(settings: &Settings) -> Check {
    if let Err(error) = open::llm(settings) {
        return Check::failed("llm", error);
    }
    let (true, Some(url), Some(model)) =
        (settings.uses_llm(), &settings.llm_url, &settings.llm_model)
    else {
        let found = "none configured: only texts that say it all are kept";
        return Check::skipped("llm", found);
    };
    let shown = url.masked();
    let models_url = match endpoint(url.expose(), "models") {
        Ok(url) => url,
        Err(error) => return Check::failed("llm", error),
    };
    match models(settings, models_url).await {
        Ok(status) => answered(status, &shown, model),
        Err(error) => {
            let error = anyhow::Error::from(error.without_url());
            let found = format!("{shown} does not answer: {}", output::message(&error));
            Check::fail("llm", found, "start the server, or set --llm-url")
        }
    }
}

async fn models(settings: &Settings, url: Url) -> reqwest::Result<StatusCode> {
    let client = reqwest::Client::builder()
        .timeout(settings.llm_timeout.min(TIMEOUT))
        .build()?;
    let mut request = client.get(url);
    if let Some(key) = &settings.llm_key {
        request = request.bearer_auth(key.expose_secret());
    }
    Ok(request.send().await?.status())
}

fn answered(status: StatusCode, url: &str, model: &str) -> Check {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let found = format!("{url} refuses the key ({status})");
            Check::fail("llm", found, "set --llm-key (better: MEMFOLD_LLM_KEY)")
        }
        status if status.is_success() => Check::ok("llm", format!("{model} at {url}")),
        // Not every server lists its models.
        status => {
            let found = format!("{url} answers {status} to a question for its models");
            Check::warn("llm", found, "check --llm-url; it should end in /v1")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::check::Status;

    #[test]
    fn a_refused_key_fails_and_an_unknown_path_warns() {
        let status = |status| answered(status, "http://h", "m").status;
        assert_eq!(status(StatusCode::OK), Status::Ok);
        assert_eq!(status(StatusCode::UNAUTHORIZED), Status::Fail);
        assert_eq!(status(StatusCode::NOT_FOUND), Status::Warn);
    }
}
