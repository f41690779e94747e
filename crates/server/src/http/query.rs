//! Parses query strings. A request with an unknown or invalid parameter is answered with a [`Fault`].

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::fault::Fault;

/// Extractor of the parsed query of a request. Its rejection is a [`Fault`].
pub(super) struct QueryParams<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let query = Query::try_from_uri(&parts.uri).map_err(|error| Fault::Invalid(error.body_text()))?;
        Ok(Self(query.0))
    }
}
