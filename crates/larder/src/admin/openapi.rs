//! The admin API as an `OpenAPI` 3.1 document: the paths by hand, the schemas from the types that are read and written.

use super::{Answer, Written, guard, purge, purges};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The document.
pub(super) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let mut paths = paths(&mut schemas);
    refuse_others(&mut paths, &mut schemas);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Larder's admin API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "For the operator, on an address of its own. It answers to an IP address or localhost only.",
        },
        "servers": [{ "url": "http://127.0.0.1:9180" }],
        "paths": paths,
        "components": { "schemas": schemas.take_definitions(true) },
    })
}

fn paths(schemas: &mut SchemaGenerator) -> Value {
    json!({
        "/": { "get": text("What there is, for people who look", "text/plain") },
        "/metrics": { "get": text("Figures for Prometheus", "application/openmetrics-text") },
        "/healthz": { "get": text("200 while the process lives", "text/plain") },
        "/readyz": { "get": {
            "summary": "Whether requests are welcome",
            "responses": {
                "200": { "description": "They are", "content": { "text/plain": { "schema": { "type": "string" } } } },
                "503": told::<Written>("Starting or draining", schemas),
            },
        } },
        "/explain": { "get": explain(schemas) },
        "/purge": { "post": purge(schemas) },
        "/purges": { "get": purges(schemas) },
        "/openapi.json": { "get": {
            "summary": "This document",
            "responses": {
                "200": { "description": "It", "content": { "application/json": { "schema": { "type": "object" } } } },
            },
        } },
    })
}

/// Adds the refusal of foreign host names to every operation but those for monitors ([`guard::MONITORED`]).
fn refuse_others(paths: &mut Value, schemas: &mut SchemaGenerator) {
    let refusal = told::<Written>("Asked under a name that is not this machine's own", schemas);
    let paths = paths.as_object_mut().into_iter().flatten();
    let operations = paths.filter(|(path, _)| !guard::MONITORED.contains(&path.as_str()));
    for operation in operations
        .filter_map(|(_, operations)| operations.as_object_mut())
        .flat_map(Map::values_mut)
    {
        if let Some(responses) = operation["responses"].as_object_mut() {
            responses.insert("403".to_owned(), refusal.clone());
        }
    }
}

/// An operation that always answers with text.
fn text(summary: &str, kind: &str) -> Value {
    let content = json!({ kind: { "schema": { "type": "string" } } });
    json!({ "summary": summary, "responses": { "200": { "description": summary, "content": content } } })
}

fn explain(schemas: &mut SchemaGenerator) -> Value {
    json!({
        "summary": "Why a URL is or is not answered from the store",
        "parameters": [
            {
                "name": "url", "in": "query", "required": true, "schema": { "type": "string" },
                "description": "The URL, whole, as a client would ask for it",
            },
            {
                "name": "header", "in": "query", "explode": true,
                "schema": { "type": "array", "items": { "type": "string" } },
                "description": "A header field of the request, as `Name: value`",
            },
        ],
        "responses": {
            "200": told::<Answer>("The explanation", schemas),
            "400": told::<Written>("No URL, or a field that is none", schemas),
        },
    })
}

fn purge(schemas: &mut SchemaGenerator) -> Value {
    let request = schemas.subschema_for::<purge::Request>();
    json!({
        "summary": "Forget what is named: all of it, or on an error nothing",
        "description": "When this is answered, no request that begins later gets what was purged, from any tier of this node.",
        "requestBody": {
            "required": true,
            "content": { "application/json": {
                "schema": request,
                "examples": {
                    "url": { "value": { "url": "http://example.com/page" } },
                    "tags": { "value": { "tags": ["p-12", "home"], "soft": true } },
                    "groups": { "value": { "groups": ["front"], "host": "example.com" } },
                    "everywhere": { "value": { "prefix": "http://example.com/news/", "wait": "10s" } },
                },
            } },
        },
        "responses": {
            "200": told::<purge::Answer>("Purged", schemas),
            "400": told::<Written>("Not a purge: no JSON, an unknown field, a malformed URL or expression, nothing named or several things", schemas),
            "408": told::<Written>("The body did not come in time", schemas),
            "413": told::<Written>("The body is larger than 1 MiB", schemas),
            "415": told::<Written>("Not sent as application/json", schemas),
            "500": told::<Written>("Purged, but it would be forgotten at a restart", schemas),
            "503": told::<Written>("Nothing was purged; worth trying again after Retry-After", schemas),
        },
    })
}

fn purges(schemas: &mut SchemaGenerator) -> Value {
    json!({
        "summary": "What was purged on this node, for those who keep pages elsewhere",
        "description": "Without `after`, where the log stands; then what came after, at once or when something comes.",
        "parameters": [
            {
                "name": "after", "in": "query", "schema": { "type": "string" },
                "description": "The cursor of the last answer",
            },
            {
                "name": "wait", "in": "query", "schema": { "type": "string", "examples": ["30s"] },
                "description": "How long to wait for a purge where there is none; a minute at most",
            },
        ],
        "responses": {
            "200": told::<purges::Purges>("The purges", schemas),
            "400": told::<Written>("A parameter that is none", schemas),
            "503": told::<Written>("Too many wait already; worth trying again after Retry-After", schemas),
        },
    })
}

/// An answer in JSON.
fn told<T: JsonSchema>(description: &str, schemas: &mut SchemaGenerator) -> Value {
    let schema = schemas.subschema_for::<T>();
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

#[cfg(test)]
mod tests;
